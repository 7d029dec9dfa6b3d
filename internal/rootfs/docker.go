package rootfs

import (
	"context"
	"encoding/json/v2"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

const dockerManifest = "manifest.json"

// dockerEntry is an image in the manifest.json of docker save.
type dockerEntry struct {
	Config   string   `json:"Config"`
	RepoTags []string `json:"RepoTags"`
	Layers   []string `json:"Layers"`
}

// pickDocker finds an image of a docker archive by one of its names, or the only
// one. Its layers have no digests but those of what they unpack to.
func (a *archive) pickDocker(name string, want platform) (*image, error) {
	b, err := small(a, dockerManifest)
	if err != nil {
		return nil, err
	}
	var all []dockerEntry
	if err := json.Unmarshal(b, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", dockerManifest, err)
	}
	e, err := chooseDocker(all, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dockerManifest, err)
	}
	conf, err := a.dockerConfig(e.Config)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dockerManifest, err)
	}
	im := &image{}
	for i, l := range e.Layers {
		file, err := cleanName(l, defaultDepth)
		if err == nil {
			_, _, err = a.file(file)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: Layers[%d]: %w", dockerManifest, i, err)
		}
		im.layers = append(im.layers, layer{size: -1, open: func(context.Context) (io.ReadCloser, error) {
			r, _, err := a.file(file)
			return r, err
		}})
	}
	return im, im.configure(conf, want)
}

// dockerConfig reads the configuration. Its name is its digest, which is docker's
// image id: "abc….json", "blobs/sha256/abc…" or, of other tools, "sha256:abc…".
func (a *archive) dockerConfig(name string) ([]byte, error) {
	file, err := cleanName(name, defaultDepth)
	if err != nil {
		return nil, fmt.Errorf("Config: %w", err)
	}
	sum, err := parseDigest(digestPrefix + strings.TrimPrefix(strings.TrimSuffix(path.Base(file), ".json"), digestPrefix))
	if err != nil {
		return nil, fmt.Errorf("Config: %q isn't named by its digest: %w", name, err)
	}
	b, err := small(a, file)
	if err == nil && digestOf(b) != sum {
		err = fmt.Errorf("digest: got %s, want %s", digestOf(b), sum)
	}
	if err != nil {
		return nil, fmt.Errorf("Config: %w", err)
	}
	return b, nil
}

func chooseDocker(all []dockerEntry, name string) (dockerEntry, error) {
	if name == "" {
		if len(all) == 1 {
			return all[0], nil
		}
		return dockerEntry{}, fmt.Errorf("has %d images; name one of %q", len(all), dockerTags(all))
	}
	for _, e := range all {
		if slices.Contains(e.RepoTags, name) || slices.Contains(e.RepoTags, name+":latest") {
			return e, nil
		}
	}
	return dockerEntry{}, fmt.Errorf("has no image %q; it has %q", name, dockerTags(all))
}

func dockerTags(all []dockerEntry) (tags []string) {
	for _, e := range all {
		tags = append(tags, e.RepoTags...)
	}
	return tags
}
