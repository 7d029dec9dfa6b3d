package bundle

import (
	"fmt"

	"github.com/joulebox/joulebox/attestation"
	"github.com/joulebox/joulebox/grant"
)

// reading is one way to understand what the file doesn't state: what kind of
// artifact ran, and what the host was like.
type reading struct {
	artifact grant.Artifact
	tenants  bool // several
	diskKV   bool // kv on a disk that the tenants share
	ceilings bool // the granted ceilings are within the host's
}

// tier checks that the run was at the tier that this request requires, no lower
// and no higher (§1.1). The descriptor doesn't say what kind of artifact the
// image is, nor the bundle what the host was like, so any reading of these that
// the file is consistent with will do. Several tenants may raise the tier to S3.
func (v *verifier) tier() {
	const name = "tier_required"
	ran := v.fields.Tier
	readings := v.readings()
	for _, r := range readings {
		if tier, why := grant.RequiredTier(v.request(r)); tier == ran {
			v.add(name, Pass, "%s: %s%s", ran, why[0].Text, r.but(readings[0]))
			return
		}
	}
	tier, why := grant.RequiredTier(v.request(readings[0]))
	v.add(name, Fail, "got %s, want %s: %s", ran, tier, why[0].Text)
}

// readings lists the plainest first.
func (v *verifier) readings() (all []reading) {
	tenants := []bool{false, true}
	if v.o.MultiTenant {
		tenants = tenants[1:]
	}
	for _, artifact := range v.artifacts() {
		for _, many := range tenants {
			for _, disk := range []bool{false, true} {
				for _, ceilings := range []bool{true, false} {
					all = append(all, reading{artifact, many, disk, ceilings})
				}
			}
		}
	}
	return all
}

// artifacts lists what the image may be. A module has no image object, unless it
// is one file of a tree: then the entrypoint names it (see unit.Image.Module).
func (v *verifier) artifacts() []grant.Artifact {
	switch image := v.b.image; {
	case image == nil:
		return []grant.Artifact{grant.WASM}
	case !image.Pinned():
		v.note("host-image-unpinned: the run used the host's own files; only the program's bytes are covered, at the path %s", image.Program.Path)
		return []grant.Artifact{grant.Native}
	}
	if _, ok := v.b.image.Module(v.b.unit.Entrypoint[0]); ok {
		return []grant.Artifact{grant.WASM}
	}
	return []grant.Artifact{grant.Native, grant.Guest}
}

func (v *verifier) request(r reading) grant.Request {
	p := &v.b.unit.Placement
	q := grant.Request{
		Grants:       v.b.grants,
		Artifact:     r.artifact,
		Trusted:      p.Trusted,
		Sensitive:    p.IsSensitive(),
		Boundary:     p.Boundary,
		Passthrough:  p.Passthrough,
		Confidential: p.Confidential,
		Locality:     p.Locality != nil,
		MultiTenant:  r.tenants,
		DiskKV:       r.diskKV,
	}
	if r.ceilings {
		q.Limits = v.b.grants.Storage.Ceilings
	}
	return q
}

// but says in what a reading departs from the plainest one.
func (r reading) but(plain reading) string {
	switch {
	case r.tenants != plain.tenants:
		return ", if the host served several tenants"
	case r.ceilings != plain.ceilings:
		return ", if the granted ceilings are above the host's"
	case r.artifact != plain.artifact:
		return ", if the image is a bootable guest"
	}
	return ""
}

// locality checks that an S7 run was bound to the place that the unit asked for
// (§7.7), and to none otherwise.
func (v *verifier) locality() {
	const name = "locality"
	want, got := v.b.unit.Placement.Locality, v.fields.Locality
	switch {
	case want == nil && got == nil:
		v.add(name, Skip, "the unit asks for none")
	case want == nil || got == nil || attestation.Locality(*want) != *got:
		v.add(name, Fail, "got %v, want the unit's, %v", show(got), show((*attestation.Locality)(want)))
	default:
		v.add(name, Pass, "%s", show(got))
		v.note("locality is the operator's word: %s", show(got))
	}
}

func show(l *attestation.Locality) string {
	if l == nil {
		return "none"
	}
	return fmt.Sprintf("region %q, jurisdiction %q", l.Region, l.Jurisdiction)
}
