package rootfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// blobs are where the parts of an image lie. What they give is checked by who
// reads it.
type blobs interface {
	// open gives a configuration or a layer.
	open(ctx context.Context, d digest) (io.ReadCloser, error)
	// manifest gives a manifest or an index.
	manifest(ctx context.Context, d digest) (io.ReadCloser, error)
}

// keeper is told of documents that were right.
type keeper interface{ keep(document []byte) }

// layer is a layer of an image and how to get at it.
type layer struct {
	packed digest // empty where only the unpacked one is known
	size   int64  // of the packed one; -1 is not known
	diffID digest
	open   func(ctx context.Context) (io.ReadCloser, error)
}

// image is what an image consists of, its documents read and checked.
type image struct {
	manifest digest // empty for a docker archive, which has none
	config   configFile
	layers   []layer
}

// readDocument reads a document whole and checks it. A size of -1 isn't known.
func readDocument(ctx context.Context, from blobs, open func(context.Context, digest) (io.ReadCloser, error), d digest, size int64) ([]byte, error) {
	if size > maxDocument {
		return nil, &LimitError{"document bytes", size, maxDocument}
	}
	r, err := open(ctx, d)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	// A document that is cut off at the limit has another digest.
	b, err := io.ReadAll(io.LimitReader(newBlob(r, d, size), maxDocument+1))
	if err == nil && len(b) > maxDocument {
		err = &LimitError{"document bytes", int64(len(b)), maxDocument}
	}
	if k, ok := from.(keeper); ok && err == nil {
		k.keep(b)
	}
	return b, err
}

// find goes from a descriptor to the image for a platform.
func find(ctx context.Context, from blobs, d descriptor, want platform) (*image, error) {
	for range maxIndexes {
		sum, err := d.check()
		if err != nil {
			return nil, err
		}
		b, err := readDocument(ctx, from, from.manifest, sum, d.Size)
		if err != nil {
			return nil, err
		}
		m, err := parseManifest(b, d.MediaType)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", sum, err)
		}
		if !m.isIndex() {
			return readImage(ctx, from, sum, m, want)
		}
		if d, err = choose(m.Manifests, want); err != nil {
			return nil, fmt.Errorf("%s: %w", sum, err)
		}
	}
	return nil, fmt.Errorf("index: leads through %d indexes and more to no manifest", maxIndexes)
}

// choose takes the first manifest of an index for a platform, as every client
// does. A nested index says nothing of platforms, and is taken if nothing else fits.
func choose(all []descriptor, want platform) (descriptor, error) {
	var nested []descriptor
	var seen []string
	for _, d := range all {
		switch {
		case d.Platform != nil && want.runs(*d.Platform):
			return d, nil
		case d.Platform == nil && (len(all) == 1 || d.MediaType == ociIndex || d.MediaType == dockerList):
			nested = append(nested, d)
		case d.Platform != nil:
			seen = append(seen, d.Platform.String())
		}
	}
	switch {
	case len(nested) == 1:
		return nested[0], nil
	case len(nested) > 1:
		return descriptor{}, errors.New("index: has several entries without a platform; name one by its digest")
	}
	return descriptor{}, fmt.Errorf("index: has no image for %s; it has %s", want, strings.Join(seen, ", "))
}

func readImage(ctx context.Context, from blobs, sum digest, m manifest, want platform) (*image, error) {
	conf, err := m.Config.check()
	if err != nil {
		return nil, fmt.Errorf("manifest: config: %w", err)
	}
	if t := m.Config.MediaType; t != ociConfig && t != dockerConf {
		return nil, fmt.Errorf("manifest: config: mediaType: got %q, want an image's; this is something else than a container image", t)
	}
	b, err := readDocument(ctx, from, from.open, conf, m.Config.Size)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	im := &image{manifest: sum}
	for i, d := range m.Layers {
		packed, err := d.check()
		if err != nil {
			return nil, fmt.Errorf("manifest: layers[%d]: %w", i, err)
		}
		im.layers = append(im.layers, layer{packed: packed, size: d.Size, open: func(ctx context.Context) (io.ReadCloser, error) { return from.open(ctx, packed) }})
	}
	return im, im.configure(b, want)
}

// configure reads the configuration, which says what the layers unpack to.
func (im *image) configure(b []byte, want platform) (err error) {
	if im.config, err = parseConfig(b); err != nil {
		return err
	}
	ids, err := im.config.diffIDs()
	if err != nil {
		return err
	}
	switch {
	case len(ids) != len(im.layers):
		return fmt.Errorf("config: rootfs.diff_ids: got %d, want %d, as many as there are layers", len(ids), len(im.layers))
	case !im.config.runsOn(want):
		return fmt.Errorf("config: is for %s, want %s", im.config.platform, want)
	}
	for i := range im.layers {
		im.layers[i].diffID = ids[i]
	}
	return nil
}

// runsOn compares the platforms. Many configurations leave their variant to the
// index.
func (c configFile) runsOn(want platform) bool {
	have := c.platform
	if have.Variant == "" {
		have.Variant = want.Variant
	}
	return want.runs(have)
}

// key is the layers' unpacked digests in their order: they alone decide the tree.
func (im *image) key() key {
	parts := make([]string, len(im.layers))
	for i, l := range im.layers {
		parts[i] = string(l.diffID)
	}
	return newKey("layers", parts...)
}
