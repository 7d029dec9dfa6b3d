package manifest

import (
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/internal/jcs"
)

// Schema marks a manifest.
const Schema = "sandbox.env-manifest/1"

// Fields are a manifest's members, in the order of §14.
type Fields struct {
	// Image is the base image's reference as it was written.
	Image string `json:"image"`
	// Pinned says that the whole declaration names bytes: Image has a sha256
	// digest, and no variable is anywhere in it.
	Pinned bool `json:"pinned"`
	// Features are sorted by ID; each stands once.
	Features []Feature `json:"features"`
	// ContainerEnv are the environment's variables.
	ContainerEnv map[string]string `json:"containerEnv"`
	// Mounts are sorted by Target; each stands once.
	Mounts []Mount `json:"mounts"`
	// RemoteUser is who the unit runs as; empty leaves it to the image.
	RemoteUser string `json:"remoteUser,omitzero"`
}

// Feature is a tool feature. Options are strings, booleans and integers.
type Feature struct {
	ID      string                    `json:"id"`
	Options map[string]jsontext.Value `json:"options"`
}

// Mount is one mount of the environment.
type Mount struct {
	// Source is empty for a tmpfs and for a volume without a name.
	Source string `json:"source"`
	Target string `json:"target"`
	// Kind is "bind", "volume" or "tmpfs".
	Kind string `json:"kind"`
	// ReadOnly makes another environment of it, so it is part of the identity.
	ReadOnly bool `json:"readonly,omitzero"`
}

// The kinds of mounts.
const (
	Bind   = "bind"
	Volume = "volume"
	Tmpfs  = "tmpfs"
)

// Manifest is a declared environment. It doesn't change once made.
type Manifest struct {
	fields Fields
	core   []byte
	id     joulebox.ID
}

type wire struct {
	Schema string `json:"schema"`
	Fields `json:",inline"`
}

// newManifest makes the canonical form of fields that have been checked.
func newManifest(f Fields) (*Manifest, error) {
	slices.SortFunc(f.Features, func(a, b Feature) int { return compare(a.ID, b.ID) })
	slices.SortFunc(f.Mounts, func(a, b Mount) int { return compare(a.Target, b.Target) })
	f.Pinned = f.pinned()
	core, err := jcs.Marshal(wire{Schema, f})
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	// Read back, so that there is one way into a Manifest, and values have one spelling.
	return Parse(core)
}

// maxCore bounds the canonical form, which spells out what a file abbreviates.
const maxCore = 8 * MaxBytes

// Parse reads a manifest's JSON, canonical or not. Unknown, missing and doubled
// members are refused, and so is everything that Ingest could not have made.
func Parse(src []byte) (*Manifest, error) {
	if len(src) > maxCore {
		return nil, fmt.Errorf("manifest: got %d bytes, want at most %d", len(src), maxCore)
	}
	var w wire
	if err := jcs.Unmarshal(src, &w); err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	if w.Schema != Schema {
		return nil, fmt.Errorf("manifest: schema: got %q, want %q", w.Schema, Schema)
	}
	if err := w.Fields.validate(); err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	core, err := jcs.Strict(src)
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	return &Manifest{fields: w.Fields, core: core, id: joulebox.Sum(core)}, nil
}

// Core is the canonical JSON that the address is taken over and a seal signs.
func (m *Manifest) Core() []byte { return slices.Clone(m.core) }

// ID is the manifest's address: what a unit names, and a suspension records.
func (m *Manifest) ID() joulebox.ID { return m.id }

// Fields is a copy of the members.
func (m *Manifest) Fields() Fields {
	f := m.fields
	f.Features = slices.Clone(f.Features)
	for i := range f.Features {
		f.Features[i].Options = maps.Clone(f.Features[i].Options)
	}
	f.ContainerEnv = maps.Clone(f.ContainerEnv)
	f.Mounts = slices.Clone(f.Mounts)
	return f
}

// validate holds what was read to what Ingest makes.
func (f *Fields) validate() error {
	if bad := checkImage(f.Image); bad.is() {
		return bad.at("image")
	}
	if f.Pinned != f.pinned() {
		return fmt.Errorf("pinned: got %v, want %v: that follows from the image and from variables", f.Pinned, f.pinned())
	}
	for i, x := range f.Features {
		if bad := x.check(); bad.is() {
			return bad.at(fmt.Sprintf("features[%d]", i))
		}
		if i > 0 && compare(f.Features[i-1].ID, x.ID) >= 0 {
			return fmt.Errorf("features[%d]: got %q after %q, want each once, sorted by UTF-16 code units", i, x.ID, f.Features[i-1].ID)
		}
	}
	for name, value := range f.ContainerEnv {
		if bad := checkVariable(name, value); bad.is() {
			return bad.at("containerEnv." + name)
		}
	}
	if bad := checkUser(f.RemoteUser); f.RemoteUser != "" && bad.is() {
		return bad.at("remoteUser")
	}
	return f.validateMounts()
}

func (f *Fields) validateMounts() error {
	seen := map[string]bool{}
	for i, m := range f.Mounts {
		if bad := m.check(); bad.is() {
			return bad.at(fmt.Sprintf("mounts[%d]", i))
		}
		if i > 0 && compare(f.Mounts[i-1].Target, m.Target) >= 0 {
			return fmt.Errorf("mounts[%d]: got target %q after %q, want each once, sorted by UTF-16 code units", i, m.Target, f.Mounts[i-1].Target)
		}
		if seen[m.place()] {
			return fmt.Errorf("mounts[%d]: two mounts have the target %q", i, m.Target)
		}
		seen[m.place()] = true
	}
	return nil
}

// fault is what is wrong with a value, and what to do about it.
type fault struct{ reason, fix string }

func (x fault) is() bool { return x.reason != "" }

func (x fault) at(field string) error { return errors.New(field + ": " + x.reason + "; " + x.fix) }
