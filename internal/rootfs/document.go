package rootfs

import (
	"encoding/json/v2"
	"fmt"
	"slices"
	"strings"
)

// The media types of documents. Those of layers aren't looked at: see unpack.
const (
	ociIndex    = "application/vnd.oci.image.index.v1+json"
	ociManifest = "application/vnd.oci.image.manifest.v1+json"
	ociConfig   = "application/vnd.oci.image.config.v1+json"
	dockerList  = "application/vnd.docker.distribution.manifest.list.v2+json"
	dockerImage = "application/vnd.docker.distribution.manifest.v2+json"
	dockerConf  = "application/vnd.docker.container.image.v1+json"
)

const (
	maxDocument = 4 << 20 // what registries take at most
	maxIndexes  = 8       // indexes on the way to a manifest
)

// descriptor names a blob.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	URLs        []string          `json:"urls"`
	Annotations map[string]string `json:"annotations"`
	Platform    *platform         `json:"platform"`

	anySize bool // it was asked for by its digest alone: Size is -1
}

// check gives the digest of a descriptor that could be right.
func (d descriptor) check() (digest, error) {
	sum, err := parseDigest(d.Digest)
	switch {
	case err != nil:
		return "", fmt.Errorf("digest: %w", err)
	case d.Size < 0 && !d.anySize:
		return "", fmt.Errorf("%s: size: got %d, want 0 or more", sum, d.Size)
	case len(d.URLs) > 0:
		return "", fmt.Errorf("%s: urls: lies elsewhere (%s), which isn't followed; pull it into the image first", sum, d.URLs[0])
	}
	return sum, nil
}

// platform is what an image runs on.
type platform struct {
	OS           string `json:"os"`
	Architecture string `json:"architecture"`
	Variant      string `json:"variant"`
}

func (p platform) String() string {
	s := p.OS + "/" + p.Architecture
	if p.Variant != "" {
		s += "/" + p.Variant
	}
	return s
}

// parsePlatform reads "linux/arm64" or "linux/arm/v7".
func parsePlatform(s string) (p platform, err error) {
	parts := strings.Split(s, "/")
	if len(parts) < 2 || len(parts) > 3 || slices.Contains(parts, "") || parts[0] != "linux" {
		return p, fmt.Errorf("platform: got %q, want linux/ARCHITECTURE or linux/ARCHITECTURE/VARIANT", s)
	}
	p.OS, p.Architecture = parts[0], parts[1]
	if len(parts) == 3 {
		p.Variant = parts[2]
	}
	return p, nil
}

// runs reports whether what is made for have runs where p is asked for. A variant
// that nobody asked for must be the one that all machines of the kind have.
func (p platform) runs(have platform) bool {
	if have.OS != p.OS || have.Architecture != p.Architecture {
		return false
	}
	base := map[string]string{"arm64": "v8", "arm": "v7", "amd64": "v1"}[p.Architecture]
	or := func(v string) string {
		if v == "" {
			return base
		}
		return v
	}
	return or(have.Variant) == or(p.Variant)
}

// manifest is a manifest or an index.
type manifest struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Manifests     []descriptor `json:"manifests"`
	Config        *descriptor  `json:"config"`
	Layers        []descriptor `json:"layers"`
}

// parseManifest tells the two apart by what they have, and refuses what could be
// both: two readers would see two images.
func parseManifest(b []byte, mediaType string) (m manifest, err error) {
	if err := json.Unmarshal(b, &m); err != nil {
		return m, fmt.Errorf("manifest: %w", err)
	}
	switch index := m.isIndex(); {
	case m.SchemaVersion != 2:
		return m, fmt.Errorf("manifest: schemaVersion: got %d, want 2", m.SchemaVersion)
	case m.Manifests != nil && (m.Config != nil || m.Layers != nil):
		return m, fmt.Errorf("manifest: is an index and an image at once")
	case !index && m.Config == nil:
		return m, fmt.Errorf("manifest: has neither manifests nor a config")
	case m.MediaType != "" && mediaType != "" && m.MediaType != mediaType:
		return m, fmt.Errorf("manifest: mediaType: got %q, want %q, by which it is named", m.MediaType, mediaType)
	}
	for _, t := range []string{m.MediaType, mediaType} {
		if err := m.checkType(t); err != nil {
			return m, err
		}
	}
	return m, nil
}

func (m manifest) isIndex() bool { return m.Manifests != nil }

func (m manifest) checkType(t string) error {
	want := []string{ociManifest, dockerImage}
	if m.isIndex() {
		want = []string{ociIndex, dockerList}
	}
	if t != "" && !slices.Contains(want, t) {
		return fmt.Errorf("manifest: mediaType: got %q, want one of %q", t, want)
	}
	return nil
}

// configFile is what is read of an image's configuration.
type configFile struct {
	platform
	Config struct {
		User       string   `json:"User"`
		Env        []string `json:"Env"`
		Entrypoint []string `json:"Entrypoint"`
		Cmd        []string `json:"Cmd"`
		WorkingDir string   `json:"WorkingDir"`
	} `json:"config"`
	RootFS struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	} `json:"rootfs"`
}

// Config is what an image says of how it is run. Nothing of it is a part of the
// image id; whoever runs the image decides.
type Config struct {
	Entrypoint, Cmd []string
	Env             []string // "NAME=value"
	WorkingDir      string   // absolute, or empty
	User            string   // "name", "uid", "name:group", or empty
}

func parseConfig(b []byte) (c configFile, err error) {
	if err := json.Unmarshal(b, &c); err != nil {
		return c, fmt.Errorf("config: %w", err)
	}
	if c.RootFS.Type != "layers" {
		return c, fmt.Errorf("config: rootfs.type: got %q, want %q", c.RootFS.Type, "layers")
	}
	return c, c.checkConfig()
}

// checkConfig refuses what no process could be started with.
func (c configFile) checkConfig() error {
	for _, list := range [][]string{c.Config.Entrypoint, c.Config.Cmd, c.Config.Env, {c.Config.WorkingDir, c.Config.User}} {
		for _, s := range list {
			if strings.IndexByte(s, 0) >= 0 {
				return fmt.Errorf("config: got %q, want no NUL bytes", s)
			}
		}
	}
	for _, e := range c.Config.Env {
		if name, _, ok := strings.Cut(e, "="); !ok || name == "" {
			return fmt.Errorf("config: Env: got %q, want NAME=value", e)
		}
	}
	if d := c.Config.WorkingDir; d != "" && d[0] != '/' {
		return fmt.Errorf("config: WorkingDir: got %q, want an absolute path", d)
	}
	return nil
}

func (c configFile) public() Config {
	return Config{c.Config.Entrypoint, c.Config.Cmd, c.Config.Env, c.Config.WorkingDir, c.Config.User}
}

// diffIDs are the digests of the unpacked layers, lowest first.
func (c configFile) diffIDs() ([]digest, error) {
	ids := make([]digest, len(c.RootFS.DiffIDs))
	for i, s := range c.RootFS.DiffIDs {
		d, err := parseDigest(s)
		if err != nil {
			return nil, fmt.Errorf("config: rootfs.diff_ids[%d]: %w", i, err)
		}
		ids[i] = d
	}
	return ids, nil
}
