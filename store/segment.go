package store

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/joulebox/joulebox/internal/disk"
)

// segment is one file of a log. Its name is the offset that it starts at, in
// hex, and the next one starts where it ends.
type segment struct {
	file  disk.File
	path  string
	start int64
	salt  salt
}

const segmentSuffix = ".log"

func segmentName(start int64) string { return fmt.Sprintf("%016x%s", start, segmentSuffix) }

// segmentStarts lists the segments of a folder, first to last.
func segmentStarts(fsys disk.FS, dir string) ([]int64, error) {
	names, err := fsys.List(dir)
	if err != nil {
		return nil, err
	}
	var starts []int64
	for _, name := range names { // sorted, and of one length
		digits, ok := strings.CutSuffix(name, segmentSuffix)
		start, err := strconv.ParseInt(digits, 16, 64)
		if ok && err == nil && name == segmentName(start) {
			starts = append(starts, start)
		}
	}
	return starts, nil
}

func openSegment(fsys disk.FS, dir string, start int64, flag int) (*segment, error) {
	path := filepath.Join(dir, segmentName(start))
	f, err := fsys.Open(path, flag)
	if err != nil {
		return nil, err
	}
	s := &segment{file: f, path: path, start: start}
	if err := s.readHeader(); err != nil {
		f.Close()
		return nil, err
	}
	return s, nil
}

func (s *segment) readHeader() error {
	head := make([]byte, segmentHead)
	n, err := s.file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if n >= len(segmentMagic) && string(head[:len(segmentMagic)]) != segmentMagic {
		return &VersionError{Path: s.path, Got: firstLine(head), Want: firstLine([]byte(segmentMagic))}
	}
	if s.salt, err = parseHeader(head[:n], s.start); err != nil {
		return &CorruptError{What: s.path, Reason: "its header: " + err.Error()}
	}
	return nil
}

func firstLine(b []byte) string {
	line, _, _ := strings.Cut(string(b[:min(len(b), 40)]), "\n")
	return line
}

func (s *segment) size() (int64, error) {
	st, err := s.file.Stat()
	return st.Size, err
}

func (s *segment) corrupt(at int64, why error) error {
	return &CorruptError{What: s.path, Offset: Offset(s.start + at), Reason: why.Error()}
}
