package manifest

import (
	"bytes"
	"encoding/json/jsontext"
	"fmt"
)

// MaxBytes bounds a file and a manifest.
const MaxBytes = 1 << 20

var byteOrderMark = []byte("\xef\xbb\xbf")

// Ingest reads a devcontainer.json: JSON with comments and trailing commas; a byte
// order mark and any ends of lines are fine. Its error is a Refusals, which holds
// everything that is wrong with the file. Order, space, comments and excluded
// members don't reach the manifest.
func Ingest(src []byte) (*Manifest, error) {
	j := judgeFile(src)
	if len(j.refusals) > 0 {
		return nil, j.refusals
	}
	return newManifest(j.fields)
}

// judge goes through a file once and notes what it holds and what it may not.
type judge struct {
	text     []byte // as JSON, every byte in its place
	root     *node
	fields   Fields
	refusals Refusals
}

func judgeFile(src []byte) *judge {
	j := &judge{fields: Fields{ContainerEnv: map[string]string{}, Features: []Feature{}, Mounts: []Mount{}}}
	src = bytes.TrimPrefix(src, byteOrderMark)
	defer func() { j.refusals.place(src) }()
	if len(src) > MaxBytes {
		j.refuse("", 0, fault{fmt.Sprintf("the file is %d bytes long", len(src)), fmt.Sprintf("want at most %d", MaxBytes)})
		return j
	}
	var bad *broken
	if j.text, bad = blank(src); bad == nil {
		j.root, bad = readTree(j.text)
	}
	switch {
	case bad != nil:
		j.refuse("", bad.offset, bad.fault)
	case j.root.kind != '{':
		j.refuse("", j.root.start, fault{"got " + kindName(j.root.kind), "want an object with an image"})
	default:
		j.twice(nil, j.root)
		j.object()
	}
	return j
}

// maxRefusals bounds the answer to a file that is made to be refused.
const maxRefusals = 1000

func (j *judge) refuse(field string, offset int, x fault) {
	switch {
	case len(j.refusals) == maxRefusals:
		field, x = "", fault{fmt.Sprintf("more than %d things are refused", maxRefusals), "correct those above first"}
	case len(j.refusals) > maxRefusals:
		return
	}
	j.refusals = append(j.refusals, Refusal{Field: field, Reason: x.reason, Fix: x.fix, offset: offset})
}

// object judges the members of the file.
func (j *judge) object() {
	image := false
	for _, m := range j.root.members {
		if m.dropped { // it stands twice
			continue
		}
		switch x, known := refused[m.name]; {
		case known:
			j.drop(m.name, m, x)
		case excluded[m.name]:
		case m.name == "image":
			image = true
			j.image(m)
		case m.name == "features":
			j.features(m)
		case m.name == "containerEnv":
			j.containerEnv(m)
		case m.name == "mounts":
			j.mounts(m)
		case m.name == "remoteUser":
			j.remoteUser(m)
		default:
			j.drop(m.name, m, unknown(m.name))
		}
	}
	if !image {
		j.refuse("image", j.root.start, fault{"no image is named", buildFirst})
	}
}

// drop refuses a member, and takes it out of the suggestion.
func (j *judge) drop(field string, m *member, x fault) {
	m.dropped = true
	j.refuse(field, m.at, x)
}

// twice finds names that stand twice in one object, anywhere: two readers could
// take two values. The first is judged on.
func (j *judge) twice(at *trail, n *node) {
	seen := make(map[string]bool, len(n.members))
	for _, m := range n.members {
		here := &trail{up: at, name: m.name}
		if seen[m.name] && len(j.refusals) <= maxRefusals {
			j.drop(here.String(), m, fault{"the name stands twice in one object, and readers don't agree on which counts", "keep one"})
		}
		m.dropped = seen[m.name]
		seen[m.name] = true
		j.twice(here, m.value)
	}
	for i, e := range n.elements {
		j.twice(&trail{up: at, index: i, element: true}, e)
	}
}

// trail is a path that is only written out where it's needed.
type trail struct {
	up      *trail
	name    string
	index   int
	element bool
}

func (t *trail) String() string {
	switch {
	case t == nil:
		return ""
	case t.element:
		return fmt.Sprintf("%s[%d]", t.up, t.index)
	}
	return join(t.up.String(), t.name)
}

// join clips what is far beyond a name, since a path may be told a thousand times.
func join(path, name string) string {
	name = clip(name)
	if path == "" {
		return name
	}
	return clip(path) + "." + name
}

// want refuses a member of another type.
func (j *judge) want(field string, m *member, kind byte) bool {
	if m.value.kind == jsontext.Kind(kind) {
		return true
	}
	j.drop(field, m, mistyped(m.value, kind))
	return false
}
