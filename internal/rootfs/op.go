package rootfs

import (
	"archive/tar"
	"fmt"
	"strings"

	"github.com/joulebox/joulebox"
)

// opKind is what an entry of a layer does to the tree.
type opKind uint8

const (
	putDir    opKind = iota
	putFile          // content has its bytes
	putLink          // target is its text
	putHard          // target is another name, a clean path
	putAbsent        // a name that isn't kept: whatever had it is gone
	hide             // a whiteout: the name is gone from the layers below
	hideAll          // an opaque folder: what it holds is gone from the layers below
)

// op is an entry of a layer without its bytes.
type op struct {
	kind   opKind
	path   string // clean
	mode   uint32 // of folders
	target string
	file   *content
}

// content is a file's bytes and mode: what hard links share.
type content struct {
	mode   uint32
	size   int64
	b3     joulebox.ID
	staged staged
	names  int // in the merged tree
}

// staged is where the bytes of a content wait for their place.
type staged struct {
	layer int
	file  uint32
}

// The names that a layer uses to take something away.
const (
	whiteout     = ".wh."
	whiteoutMeta = ".wh..wh."
	whiteoutAll  = ".wh..wh..opq"
)

// LeftOut counts the entries of an image that a tree doesn't hold.
type LeftOut struct {
	Devices int // character and block devices: a unit's /dev is its own
	Pipes   int // named pipes: they lead to nobody
	Sockets int // of a directory, for the same reason
	Aufs    int // what AUFS once kept for itself (".wh..wh.*")
}

func (l *LeftOut) add(o LeftOut) {
	l.Devices += o.Devices
	l.Pipes += o.Pipes
	l.Sockets += o.Sockets
	l.Aufs += o.Aufs
}

// opOf reads a header. Without an op there is nothing to do. A file's content is
// still to be read.
func opOf(h *tar.Header, depth int, left *LeftOut) (*op, error) {
	if h.Typeflag == tar.TypeXGlobalHeader {
		return nil, nil // nothing that it can say is kept
	}
	path, err := cleanName(h.Name, depth)
	if err != nil {
		return nil, fmt.Errorf("name: %w", err)
	}
	if strings.Contains(path, whiteout) {
		if o, done, err := whiteoutOf(path, left); done {
			return o, err
		}
	}
	o := &op{path: path, mode: uint32(h.Mode) & maxMode}
	switch h.Typeflag {
	case tar.TypeDir:
		o.kind = putDir
		return o, nil
	case tar.TypeReg, tar.TypeCont:
		o.kind = putFile
		if strings.HasSuffix(h.Name, "/") {
			return nil, fmt.Errorf("name: got %q for a file, want no slash at its end", h.Name)
		}
		if h.PAXRecords["GNU.sparse.major"] != "" || h.PAXRecords["GNU.sparse.size"] != "" || h.PAXRecords["GNU.sparse.realsize"] != "" {
			return nil, sparse(path)
		}
	case tar.TypeGNUSparse:
		return nil, sparse(path)
	case tar.TypeSymlink:
		o.kind, o.target = putLink, h.Linkname
		if err := checkText(o.target); err != nil {
			return nil, fmt.Errorf("%q: link: %w", path, err)
		}
	case tar.TypeLink:
		o.kind = putHard
		if o.target, err = cleanName(h.Linkname, depth); err != nil {
			return nil, fmt.Errorf("%q: hard link: %w", path, err)
		}
	case tar.TypeChar, tar.TypeBlock:
		if h.Typeflag == tar.TypeChar && h.Devmajor == 0 && h.Devminor == 0 {
			return nil, fmt.Errorf("%q: is a device 0:0, which overlayfs takes for a removed name; want a %q file", path, whiteout)
		}
		o.kind = putAbsent
		left.Devices++
	case tar.TypeFifo:
		o.kind = putAbsent
		left.Pipes++
	default:
		return nil, fmt.Errorf("%q: type: got %q, want a file, folder, link, hard link, device or pipe", path, h.Typeflag)
	}
	if path == "" {
		return nil, fmt.Errorf("name: got %q, the root itself, for something that is no folder", h.Name)
	}
	return o, nil
}

// sparse files unpack to far more than they are packed in, and no builder of images
// writes them.
func sparse(path string) error {
	return fmt.Errorf("%q: is a sparse file; repack the layer without sparse files", path)
}

const maxMode = 0o7777

// whiteoutOf reads a path that may hold a whiteout.
func whiteoutOf(path string, left *LeftOut) (o *op, done bool, err error) {
	dir, name := split(path)
	switch {
	case name == whiteoutAll:
		o = &op{kind: hideAll, path: dir}
	case strings.HasPrefix("/"+path, "/"+whiteoutMeta) || strings.Contains(path, "/"+whiteoutMeta):
		left.Aufs++
		return nil, true, nil
	case strings.HasPrefix(name, whiteout):
		hidden := name[len(whiteout):]
		if hidden == "" || hidden == "." || hidden == ".." {
			return nil, true, fmt.Errorf("name: got %q, want a whiteout that names what it takes away", path)
		}
		o = &op{kind: hide, path: strings.TrimPrefix(dir+"/"+hidden, "/")}
	}
	if strings.HasPrefix(dir, whiteout) || strings.Contains(dir, "/"+whiteout) {
		return nil, true, fmt.Errorf("name: got %q, want nothing beneath a whiteout", path)
	}
	return o, o != nil, nil
}
