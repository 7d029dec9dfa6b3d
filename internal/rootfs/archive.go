package rootfs

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
)

// maxMembers bounds an archive of an image: each layer and document is a few.
const maxMembers = 64 << 10

// archive is a tar file whose members can be read in any order.
type archive struct {
	at      io.ReaderAt
	members map[string]member
}

type member struct {
	offset, size int64
	link         string // another name, for a link
}

// counting says how far a tar reader has come.
type counting struct {
	*io.SectionReader
}

func (c counting) offset() int64 {
	n, _ := c.Seek(0, io.SeekCurrent)
	return n
}

// readArchive lists a tar file. A name that comes twice is refused: readers differ
// in which one they take.
func readArchive(ctx context.Context, at io.ReaderAt, size int64) (*archive, error) {
	a := &archive{at: at, members: map[string]member{}}
	from := counting{io.NewSectionReader(at, 0, size)}
	// The tar reader seeks over what it skips, so it mustn't be buffered.
	for r := tar.NewReader(from); ; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		h, err := r.Next()
		if err == io.EOF {
			return a, onlyZeros(bufio.NewReader(from))
		}
		if err != nil {
			return nil, fmt.Errorf("tar: %w", err)
		}
		if err := a.add(h, from.offset(), size); err != nil {
			return nil, err
		}
	}
}

func (a *archive) add(h *tar.Header, offset, end int64) error {
	name, err := cleanName(h.Name, defaultDepth)
	if err != nil {
		return fmt.Errorf("tar: name: %w", err)
	}
	m := member{offset: offset, size: h.Size}
	switch h.Typeflag {
	case tar.TypeReg:
		if h.Size > end-offset {
			return fmt.Errorf("tar: %q: %w", name, io.ErrUnexpectedEOF)
		}
	case tar.TypeSymlink:
		m.link = path.Join(path.Dir("/"+name), h.Linkname)[1:]
		if path.IsAbs(h.Linkname) {
			return fmt.Errorf("tar: %q: links to %q, want a file of the archive", name, h.Linkname)
		}
	case tar.TypeLink:
		if m.link, err = cleanName(h.Linkname, defaultDepth); err != nil {
			return fmt.Errorf("tar: %q: link: %w", name, err)
		}
	case tar.TypeDir, tar.TypeXGlobalHeader:
		return nil
	default:
		return fmt.Errorf("tar: %q: type: got %q, want a file, folder or link", name, h.Typeflag)
	}
	if _, twice := a.members[name]; twice {
		return fmt.Errorf("tar: %q: comes twice", name)
	}
	if len(a.members) >= maxMembers {
		return &LimitError{"members", maxMembers + 1, maxMembers}
	}
	a.members[name] = m
	return nil
}

func (a *archive) has(name string) bool {
	_, ok := a.members[name]
	return ok
}

// file follows links within the archive.
func (a *archive) file(name string) (io.ReadCloser, int64, error) {
	for range maxLinks {
		m, ok := a.members[name]
		if !ok {
			return nil, 0, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
		}
		if m.link == "" {
			return io.NopCloser(io.NewSectionReader(a.at, m.offset, m.size)), m.size, nil
		}
		name = m.link
	}
	return nil, 0, fmt.Errorf("%s: leads through more than %d links", name, maxLinks)
}

// pick finds an image of an archive of either kind. With both, as docker save
// writes them now, the OCI layout is the one whose layers have digests.
func (a *archive) pick(ctx context.Context, ref reference, want platform) (*image, error) {
	switch {
	case ref.transport == transportDocker:
		return a.pickDocker(ref.name, want)
	case ref.transport == transportArchive, a.has(layoutFile):
		return layout{a}.pick(ctx, ref.name, want)
	case a.has(dockerManifest):
		return a.pickDocker(ref.name, want)
	}
	return nil, errors.New("is no image: it has neither manifest.json nor oci-layout; write dir: for a directory")
}
