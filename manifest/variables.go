package manifest

import (
	"encoding/json/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// What a devcontainer's tools would put something else in place of: the value
// differs from host to host, so a text that has one names no bytes.
var variable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{[^}]*\}`) })

// The OCI form: a name, perhaps a tag, and one digest of 64 lower-case hex digits.
var pinnedImage = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[^@]+@sha256:[0-9a-f]{64}$`) })

// Variables are those in the declaration, each once, sorted. With any, the
// manifest is host-dependent: whoever runs it has to say their values.
func (m *Manifest) Variables() []string { return m.fields.variables() }

func (f *Fields) variables() (found []string) {
	add := func(texts ...string) {
		for _, t := range texts {
			found = append(found, variable().FindAllString(t, -1)...)
		}
	}
	add(f.Image, f.RemoteUser)
	for _, x := range f.Features {
		add(x.ID)
		for name, value := range x.Options {
			add(name, optionText(value))
		}
	}
	for name, value := range f.ContainerEnv {
		add(name, value)
	}
	for _, m := range f.Mounts {
		add(m.Source, m.Target)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func optionText(value []byte) (text string) {
	if len(value) == 0 || value[0] != '"' || json.Unmarshal(value, &text) != nil {
		return ""
	}
	return text
}

func (f *Fields) pinned() bool {
	return pinnedImage().MatchString(f.Image) && len(f.variables()) == 0
}

// Labels say why the address of an unpinned manifest is that of a text and not of
// bytes; none for a pinned one.
func (m *Manifest) Labels() (labels []string) {
	image := m.fields.Image
	_, digest, has := strings.Cut(image, "@")
	switch {
	case pinnedImage().MatchString(image):
	case !has:
		labels = append(labels, "the image has no digest: add @sha256: and its 64 hex digits")
	case strings.HasPrefix(digest, "sha256:"):
		labels = append(labels, "the image's digest isn't 64 lower-case hex digits")
	default:
		labels = append(labels, "the image's digest isn't of sha256, the one that pins")
	}
	if v := m.Variables(); len(v) > 0 {
		labels = append(labels, "host-dependent: "+strings.Join(v, " ")+" may be something else on each host")
	}
	return labels
}
