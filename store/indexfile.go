package store

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/disk"
)

// An index file is pages of 4096 bytes. The first is a header, the others hold
// up to 101 sorted entries each. Every page has a check of its own, so a lookup
// reads and checks only the few pages that it needs. The file is made without a
// sync: one that isn't whole is made anew.
//
//	header  "joulebox-index 1\n", segment end u64, pages u64, 0…, check
//	page    entries × (key [32]byte, offset u64), 0…, entries u16 at 4078, check
const (
	pageBytes   = 4096
	entryBytes  = 40
	pageEntries = 101
	pageCount   = pageBytes - frameCheck - 2
	indexMagic  = "joulebox-index 1\n"
)

var errStaleIndex = errors.New("stale index")

func (l *DirLog) pathOf(start int64) string { return filepath.Join(l.dir, segmentName(start)) }

func (l *DirLog) indexPath(start int64) string {
	return filepath.Join(l.dir, fmt.Sprintf("%016x.idx", start))
}

// searchSealed looks into a segment that is complete.
func (l *DirLog) searchSealed(ctx context.Context, start, end int64, span keyRange) ([]entry, error) {
	found, err := l.searchFile(start, end, span)
	if err == nil {
		return found, nil
	}
	s, entries, err := l.entriesOf(ctx, start, end)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(entries, entry.compare)
	l.writeIndex(start, encodeIndex(&s, end, entries))
	return slices.DeleteFunc(entries, func(e entry) bool { return !span.contains(e.key) }), nil
}

func (e entry) compare(f entry) int {
	return cmp.Or(bytes.Compare(e.key[:], f.key[:]), cmp.Compare(e.offset, f.offset))
}

// writeIndex keeps the file if that's easily done: it's made again otherwise.
func (l *DirLog) writeIndex(start int64, file []byte) {
	temp := disk.RandomName(l.indexPath(start) + ".")
	f, err := l.fs.Open(temp, disk.CreateNew)
	if err != nil {
		return
	}
	_, err = f.WriteAt(file, 0)
	if f.Close() != nil || err != nil || l.fs.Rename(temp, l.indexPath(start)) != nil {
		_ = l.fs.Remove(temp)
	}
}

func sealPage(s *salt, number int64, page []byte) {
	check := s.check(number, page[:pageBytes-frameCheck])
	copy(page[pageBytes-frameCheck:], check[:frameCheck])
}

func encodeIndex(s *salt, end int64, entries []entry) []byte {
	pages := (len(entries) + pageEntries - 1) / pageEntries
	file := make([]byte, (1+pages)*pageBytes)
	copy(file, indexMagic)
	binary.LittleEndian.PutUint64(file[len(indexMagic):], uint64(end))
	binary.LittleEndian.PutUint64(file[len(indexMagic)+8:], uint64(pages))
	sealPage(s, 0, file[:pageBytes])
	number := 0
	for part := range slices.Chunk(entries, pageEntries) {
		number++
		page := file[number*pageBytes:][:pageBytes]
		for i, e := range part {
			copy(page[i*entryBytes:], e.key[:])
			binary.LittleEndian.PutUint64(page[i*entryBytes+32:], uint64(e.offset))
		}
		binary.LittleEndian.PutUint16(page[pageCount:], uint16(len(part)))
		sealPage(s, int64(number), page)
	}
	return file
}

// indexFile is an open index file.
type indexFile struct {
	file   disk.File
	salt   salt
	pages  int
	window page
}

// searchFile looks into an index file; any error means that it must be made anew.
func (l *DirLog) searchFile(start, end int64, span keyRange) ([]entry, error) {
	seg, err := openSegment(l.fs, l.dir, start, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	seg.file.Close()
	f, err := l.fs.Open(l.indexPath(start), os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	x := indexFile{file: f, salt: seg.salt}
	if err := x.readHeader(end); err != nil {
		return nil, err
	}
	return x.find(span)
}

func (x *indexFile) readHeader(end int64) error {
	head, err := x.read(0)
	if err != nil {
		return err
	}
	st, err := x.file.Stat()
	if err != nil {
		return err
	}
	x.pages = int(st.Size/pageBytes) - 1
	if string(head[:len(indexMagic)]) != indexMagic || st.Size%pageBytes != 0 ||
		binary.LittleEndian.Uint64(head[len(indexMagic):]) != uint64(end) ||
		binary.LittleEndian.Uint64(head[len(indexMagic)+8:]) != uint64(x.pages) {
		return errStaleIndex
	}
	return nil
}

// read returns a page whose check matches, borrowed until the next one is read.
func (x *indexFile) read(number int) (page, error) {
	if x.window == nil {
		x.window = make(page, pageBytes)
	}
	if n, err := x.file.ReadAt(x.window, int64(number)*pageBytes); n < pageBytes {
		return nil, errors.Join(errStaleIndex, err)
	}
	check := x.salt.check(int64(number), x.window[:pageBytes-frameCheck])
	if !bytes.Equal(x.window[pageBytes-frameCheck:], check[:frameCheck]) {
		return nil, errStaleIndex
	}
	return x.window, nil
}

// page is one page of entries.
type page []byte

// entries reads a page of entries, numbered from 0.
func (x *indexFile) entries(number int) (page, error) {
	p, err := x.read(1 + number)
	if err != nil {
		return nil, err
	}
	if n := int(binary.LittleEndian.Uint16(p[pageCount:])); n == 0 || n > pageEntries {
		return nil, errStaleIndex
	}
	return p, nil
}

func (p page) count() int { return int(binary.LittleEndian.Uint16(p[pageCount:])) }

func (p page) key(i int) []byte { return p[i*entryBytes:][:32] }

func (p page) entry(i int) entry {
	return entry{joulebox.ID(p.key(i)), int64(binary.LittleEndian.Uint64(p[i*entryBytes+32:]))}
}

// find returns the entries within a span.
func (x *indexFile) find(span keyRange) (found []entry, failed error) {
	// The first page whose last key isn't before the span.
	first := sort.Search(x.pages, func(i int) bool {
		p, err := x.entries(i)
		if err != nil {
			failed = err
			return true
		}
		return bytes.Compare(p.key(p.count()-1), span.low[:]) >= 0
	})
	for i := first; i < x.pages && failed == nil; i++ {
		p, err := x.entries(i)
		if err != nil {
			return nil, err
		}
		for n := range p.count() {
			switch {
			case bytes.Compare(p.key(n), span.high[:]) > 0:
				return found, nil
			case bytes.Compare(p.key(n), span.low[:]) >= 0:
				found = append(found, p.entry(n))
			}
		}
	}
	return found, failed
}
