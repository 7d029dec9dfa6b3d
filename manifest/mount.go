package manifest

import (
	"encoding/csv"
	"fmt"
	"path"
	"strings"
)

func (j *judge) mounts(m *member) {
	if !j.want("mounts", m, '[') {
		return
	}
	places := map[string]bool{}
	for i, e := range m.value.elements {
		at := fmt.Sprintf("mounts[%d]", i)
		mount, ok := j.mount(at, e)
		if ok && places[mount.place()] {
			j.refuse(at, e.start, fault{fmt.Sprintf("another mount has the target %s", printable(mount.Target)), "keep one"})
			ok = false
		}
		if !ok {
			e.dropped = true
			continue
		}
		places[mount.place()] = true
		j.fields.Mounts = append(j.fields.Mounts, mount)
	}
}

// mount reads either form.
func (j *judge) mount(at string, n *node) (m Mount, ok bool) {
	switch n.kind {
	case '"':
		m, ok = j.mountText(at, n)
	case '{':
		m, ok = j.mountObject(at, n)
	default:
		j.refuse(at, n.start, fault{"got " + kindName(n.kind), "want a string or an object"})
	}
	if bad := m.check(); ok && bad.is() {
		j.refuse(at, n.start, bad)
		ok = false
	}
	return m, ok
}

func (j *judge) mountObject(at string, n *node) (m Mount, ok bool) {
	ok = true
	refuse := func(k *member, x fault) {
		j.refuse(join(at, k.name), k.at, x)
		ok = false
	}
	for _, k := range n.members {
		into := m.member(k.name)
		switch {
		case k.dropped: // said already
			ok = false
		case k.name == "readonly" && (k.value.kind == 't' || k.value.kind == 'f'):
			m.ReadOnly = k.value.kind == 't'
		case k.name == "readonly":
			refuse(k, mistyped(k.value, 't'))
		case into == nil:
			refuse(k, noSuchOption)
		case k.value.kind != '"':
			refuse(k, mistyped(k.value, '"'))
		default:
			*into = k.value.text
		}
	}
	return m, ok
}

var noSuchOption = fault{
	"the option is outside of source, target, type and readonly, and leaving it out in silence would give two environments one address",
	"remove it if the environment is the same without",
}

func (m *Mount) member(name string) *string {
	switch name {
	case "source":
		return &m.Source
	case "target":
		return &m.Target
	case "type":
		return &m.Kind
	}
	return nil
}

// aliases are the other words that the string form has for the same.
var aliases = map[string]string{"src": "source", "dst": "target", "destination": "target", "ro": "readonly"}

// mountText reads the form of docker's --mount: one line of comma-separated
// values. Its type is volume where none is given.
func (j *judge) mountText(at string, n *node) (m Mount, ok bool) {
	r := csv.NewReader(strings.NewReader(n.text))
	fields, err := r.Read()
	if err != nil || hasControl(n.text) {
		j.refuse(at, n.start, fault{fmt.Sprintf("%s isn't one line of comma-separated values", printable(n.text)), "write source=…,target=…,type=…; what has commas or quotes in it is easier as an object"})
		return m, false
	}
	ok = true
	seen := map[string]bool{}
	for _, field := range fields {
		key, value, valued := strings.Cut(field, "=")
		if long, ok := aliases[key]; ok {
			key = long
		}
		bad := m.set(key, value, valued)
		if !bad.is() && seen[key] {
			bad = fault{"the option stands twice", "keep one"}
		}
		if bad.is() {
			j.refuse(join(at, key), n.start, bad)
			ok = false
		}
		seen[key] = true
	}
	if !seen["type"] {
		m.Kind = Volume
	}
	return m, ok
}

func (m *Mount) set(key, value string, valued bool) fault {
	into := m.member(key)
	switch {
	case key == "readonly":
		on, known := map[string]bool{"true": true, "1": true, "false": false, "0": false}[value]
		m.ReadOnly = on || !valued
		if valued && !known {
			return fault{fmt.Sprintf("got %q", printable(value)), "want readonly, or readonly=true or false"}
		}
	case into == nil:
		return noSuchOption
	case !valued:
		return fault{"it has no value", "write " + key + "=…"}
	default:
		*into = value
	}
	return fault{}
}

func (m Mount) check() fault {
	switch {
	case m.Target == "":
		return fault{"it has no target", "add one"}
	case !strings.HasPrefix(m.Target, "/") && !strings.HasPrefix(m.Target, "${"):
		return fault{fmt.Sprintf("the target %s isn't absolute", printable(m.Target)), "begin it with /"}
	case hasControl(m.Source + m.Target):
		return fault{"it has control characters in it", "remove them"}
	case m.Kind != Bind && m.Kind != Volume && m.Kind != Tmpfs:
		return fault{fmt.Sprintf("got type %q", printable(m.Kind)), "want bind, volume or tmpfs"}
	case m.Kind == Bind && m.Source == "":
		return fault{"a bind has no source", "add one"}
	case m.Kind == Tmpfs && m.Source != "":
		return fault{"a tmpfs has a source", "remove the source, or say type=bind or volume"}
	}
	return fault{}
}

// place is the target as a file system has it: two spellings of it are one.
func (m Mount) place() string { return path.Clean(m.Target) }
