package manifest

import (
	"maps"
	"slices"
	"strconv"
)

// Drift is one member in which two environments differ. Values are JSON; empty
// where the member isn't there.
type Drift struct {
	Member string `json:"member"` // such as features.ghcr.io/x/go:1.version
	From   string `json:"from,omitempty"`
	To     string `json:"to,omitempty"`
}

// Diff is what drifted from a to b, sorted by member within each part of the
// manifest; none when they are one environment.
func Diff(a, b *Manifest) (drifts []Drift) {
	for _, part := range []struct{ a, b map[string]string }{
		{map[string]string{"image": strconv.Quote(a.fields.Image)}, map[string]string{"image": strconv.Quote(b.fields.Image)}},
		{a.fields.featureMembers(), b.fields.featureMembers()},
		{a.fields.envMembers(), b.fields.envMembers()},
		{a.fields.mountMembers(), b.fields.mountMembers()},
		{a.fields.userMember(), b.fields.userMember()},
	} {
		both := maps.Clone(part.a)
		maps.Copy(both, part.b)
		for _, member := range slices.Sorted(maps.Keys(both)) {
			if part.a[member] != part.b[member] {
				drifts = append(drifts, Drift{member, part.a[member], part.b[member]})
			}
		}
	}
	return drifts
}

func (f *Fields) featureMembers() map[string]string {
	out := map[string]string{}
	for _, x := range f.Features {
		out["features."+x.ID] = "{…}"
		for name, value := range x.Options {
			out["features."+x.ID+"."+name] = string(value)
		}
	}
	return out
}

func (f *Fields) envMembers() map[string]string {
	out := map[string]string{}
	for name, value := range f.ContainerEnv {
		out["containerEnv."+name] = strconv.Quote(value)
	}
	return out
}

func (f *Fields) mountMembers() map[string]string {
	out := map[string]string{}
	for _, m := range f.Mounts {
		at := "mounts." + m.Target
		out[at+".source"] = strconv.Quote(m.Source)
		out[at+".kind"] = strconv.Quote(m.Kind)
		out[at+".readonly"] = strconv.FormatBool(m.ReadOnly)
	}
	return out
}

func (f *Fields) userMember() map[string]string {
	if f.RemoteUser == "" {
		return map[string]string{}
	}
	return map[string]string{"remoteUser": strconv.Quote(f.RemoteUser)}
}
