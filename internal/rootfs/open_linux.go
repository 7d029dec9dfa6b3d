package rootfs

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Open opens what a reference names:
//
//	dir:PATH                        a directory
//	oci:PATH[:TAG]                  an OCI image layout
//	oci-archive:FILE[:TAG]          one in a tar file
//	docker-archive:FILE[:NAME:TAG]  what docker save wrote
//	docker://NAME@sha256:…          an image in a registry
//
// or a path, for which what lies there decides.
func Open(ctx context.Context, ref string, o Options) (*Root, error) {
	r, err := parseReference(ref)
	if err != nil {
		return nil, err
	}
	if r.transport == transportDir {
		return Dir(ctx, r.path, o)
	}
	root, err := openImage(ctx, r, o)
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", ref, err)
	}
	return root, nil
}

func openImage(ctx context.Context, ref reference, o Options) (*Root, error) {
	want, err := o.platform()
	if err != nil {
		return nil, err
	}
	s, err := openStore(o.Store, cmp.Or(o.StoreBytes, defaultStoreBytes))
	if err != nil {
		return nil, err
	}
	im, from, err := s.locate(ctx, ref, o, want)
	if err != nil {
		return nil, err
	}
	defer from.close()
	if limit := o.Limits.withDefaults().Layers; len(im.layers) > limit {
		return nil, &LimitError{"layers", int64(len(im.layers)), int64(limit)}
	}
	h, err := s.obtain(ctx, im.key(), o.Rehash, func(ctx context.Context, w *work) (*node, LeftOut, error) {
		return im.unpack(ctx, w, newBudget(o.Limits))
	})
	if err != nil {
		return nil, err
	}
	root := h.root()
	root.Config, root.Reference = im.config.public(), from.reference
	return root, nil
}

// source is what an image is read from.
type source struct {
	reference string
	close     func() error
}

func nothing() error { return nil }

// locate finds the image and reads its documents.
func (s *store) locate(ctx context.Context, ref reference, o Options, want platform) (im *image, from source, err error) {
	switch ref.transport {
	case transportPull:
		return s.inRegistry(ctx, ref, o, want)
	case transportOCI:
		im, from, err = inLayout(ctx, ref, want)
	default:
		im, from, err = s.inArchive(ctx, ref, o, want)
	}
	if err == nil && im.manifest != "" {
		from.reference = string(im.manifest)
	}
	return im, from, err
}

func (s *store) inRegistry(ctx context.Context, ref reference, o Options, want platform) (*image, source, error) {
	r, sum, err := openRegistry(ctx, ref.name, o, s)
	if err != nil {
		return nil, source{}, err
	}
	im, err := find(ctx, r, descriptor{Digest: string(sum), Size: -1, anySize: true}, want)
	return im, source{r.repo.Name() + "@" + string(sum), nothing}, err
}

func inLayout(ctx context.Context, ref reference, want platform) (*image, source, error) {
	dir, err := os.OpenRoot(ref.path)
	if err != nil {
		return nil, source{}, err
	}
	im, err := layout{dirFiles{dir}}.pick(ctx, ref.name, want)
	if err != nil {
		dir.Close()
		return nil, source{}, err
	}
	return im, source{close: dir.Close}, nil
}

func (s *store) inArchive(ctx context.Context, ref reference, o Options, want platform) (*image, source, error) {
	a, f, err := openArchive(ctx, ref.path, s.spool, newBudget(o.Limits))
	if err != nil {
		return nil, source{}, err
	}
	im, err := a.pick(ctx, ref, want)
	if err != nil {
		f.Close()
		return nil, source{}, err
	}
	return im, source{close: f.Close}, nil
}

// spool makes a file without a name, for an archive that has to be unpacked first.
func (s *store) spool() (*os.File, error) {
	fd, err := unix.Open(s.join(tmpDir), unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err == nil {
		return os.NewFile(uintptr(fd), "archive"), nil
	}
	f, err := os.CreateTemp(s.join(tmpDir), "file-*") // a file system without O_TMPFILE
	if err != nil {
		return nil, err
	}
	return f, os.Remove(f.Name())
}

// root hands a tree out.
func (h *held) root() *Root {
	return &Root{
		Image: h.record.image(), ID: h.record.id, Dir: h.dir, Path: filepath.Join(h.path, treeName), LeftOut: h.record.left,
		again: h.again, close: h.close,
	}
}
