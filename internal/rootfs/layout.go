package rootfs

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
)

const (
	layoutFile    = "oci-layout"
	indexFile     = "index.json"
	layoutVersion = "1.0.0"
	refName       = "org.opencontainers.image.ref.name"
	longName      = "io.containerd.image.name"
)

// files are the named files of a layout, in a directory or an archive.
type files interface {
	file(name string) (io.ReadCloser, int64, error)
}

// layout is an OCI image layout.
type layout struct{ files }

func (l layout) open(_ context.Context, d digest) (io.ReadCloser, error) {
	r, _, err := l.file("blobs/sha256/" + d.hex())
	return r, err
}

func (l layout) manifest(ctx context.Context, d digest) (io.ReadCloser, error) { return l.open(ctx, d) }

// small reads a file that no digest covers.
func small(from files, name string) ([]byte, error) {
	r, size, err := from.file(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if size > maxDocument {
		return nil, fmt.Errorf("%s: %w", name, &LimitError{"document bytes", size, maxDocument})
	}
	return io.ReadAll(io.LimitReader(r, maxDocument))
}

// pick finds the image of a tag, or the only one.
func (l layout) pick(ctx context.Context, name string, want platform) (*image, error) {
	b, err := small(l, layoutFile)
	if err != nil {
		return nil, err
	}
	var version struct {
		Version string `json:"imageLayoutVersion"`
	}
	if err := json.Unmarshal(b, &version); err != nil || version.Version != layoutVersion {
		return nil, fmt.Errorf("%s: imageLayoutVersion: got %q, want %q", layoutFile, version.Version, layoutVersion)
	}
	if b, err = small(l, indexFile); err != nil {
		return nil, err
	}
	index, err := parseManifest(b, "")
	if err == nil && !index.isIndex() {
		err = errors.New("is an image, want an index")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", indexFile, err)
	}
	d, err := oneNamed(index.Manifests, name, want)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", indexFile, err)
	}
	return find(ctx, l, d, want)
}

// oneNamed is the one entry of an index that a name stands for: a tag, "@" and a
// digest, or nothing if there is only one for the platform.
func oneNamed(all []descriptor, name string, want platform) (descriptor, error) {
	if sum, ok := strings.CutPrefix(name, "@"); ok {
		for _, d := range all {
			if d.Digest == sum {
				return d, nil
			}
		}
		return descriptor{}, fmt.Errorf("has no manifest %s", sum)
	}
	var fit []descriptor
	var tags []string
	for _, d := range all {
		tag := d.Annotations[refName]
		if name != "" && tag != name && d.Annotations[longName] != name {
			tags = append(tags, tag)
			continue
		}
		tags = append(tags, tag)
		fit = append(fit, d)
	}
	if len(fit) > 1 {
		// Several with one tag are one image for several platforms.
		fit = slices.DeleteFunc(fit, func(d descriptor) bool { return d.Platform != nil && !want.runs(*d.Platform) })
	}
	switch {
	case len(fit) == 1:
		return fit[0], nil
	case len(fit) == 0 && name != "":
		return descriptor{}, fmt.Errorf("has no image %q for %s; it has %q", name, want, tags)
	case len(fit) == 0:
		return descriptor{}, fmt.Errorf("has no image for %s", want)
	}
	return descriptor{}, fmt.Errorf("has several images; name one of %q, or a digest", tags)
}

// dirFiles are files beneath a directory. Links are followed within it.
type dirFiles struct{ *os.Root }

func (d dirFiles) file(name string) (io.ReadCloser, int64, error) {
	f, err := d.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe would wait
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: is no file", name)
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}
