package manifest

import (
	"encoding/json/jsontext"
	"fmt"
	"strings"
	"unicode"
)

func mistyped(n *node, kind byte) fault {
	return fault{"got " + kindName(n.kind), "want " + kindName(jsontext.Kind(kind))}
}

func (j *judge) image(m *member) {
	if !j.want("image", m, '"') {
		return
	}
	if bad := checkImage(m.value.text); bad.is() {
		j.drop("image", m, bad)
		return
	}
	j.fields.Image = m.value.text
}

func checkImage(s string) fault {
	switch {
	case s == "":
		return fault{"the image is empty", buildFirst}
	case strings.ContainsFunc(s, unicode.IsSpace) || hasControl(s):
		return fault{"the image has space or control characters in it", "want a reference as a registry takes it"}
	}
	return fault{}
}

func (j *judge) remoteUser(m *member) {
	if !j.want("remoteUser", m, '"') {
		return
	}
	if bad := checkUser(m.value.text); bad.is() {
		j.drop("remoteUser", m, bad)
		return
	}
	j.fields.RemoteUser = m.value.text
}

func checkUser(s string) fault {
	switch {
	case s == "":
		return fault{"the user is empty", "name one, or leave the member out"}
	case hasControl(s):
		return fault{"the user has control characters in it", "want a name or a number"}
	}
	return fault{}
}

func (j *judge) containerEnv(m *member) {
	if !j.want("containerEnv", m, '{') {
		return
	}
	for _, v := range m.value.members {
		field := join("containerEnv", v.name)
		if v.dropped || !j.want(field, v, '"') {
			continue
		}
		if bad := checkVariable(v.name, v.value.text); bad.is() {
			j.drop(field, v, bad)
			continue
		}
		j.fields.ContainerEnv[v.name] = v.value.text
	}
}

// checkVariable refuses what can't be handed on to a program.
func checkVariable(name, value string) fault {
	switch {
	case name == "":
		return fault{"a variable has no name", "name it, or remove it"}
	case strings.ContainsAny(name, "=\x00"):
		return fault{"the variable's name has a = or a NUL in it, which no program could be handed", "rename it"}
	case strings.ContainsRune(value, 0):
		return fault{"the variable's value has a NUL in it, which no program could be handed", "remove it"}
	}
	return fault{}
}

func (j *judge) features(m *member) {
	if !j.want("features", m, '{') {
		return
	}
	for _, v := range m.value.members {
		field := join("features", v.name)
		if v.dropped {
			continue
		}
		if v.value.kind != '{' {
			j.drop(field, v, notOptions(v.value))
			continue
		}
		f := Feature{ID: v.name, Options: map[string]jsontext.Value{}}
		if bad := checkFeatureID(f.ID); bad.is() {
			j.drop(field, v, bad)
			continue
		}
		j.options(field, v.value, f.Options)
		j.fields.Features = append(j.fields.Features, f)
	}
}

// notOptions says how the older forms are written today.
func notOptions(n *node) fault {
	x := fault{"got " + kindName(n.kind) + " for a feature's options", "want an object, {} for none"}
	if n.kind == '"' {
		x.fix = fmt.Sprintf(`write {"version": %q} for it`, printable(n.text))
	}
	return x
}

func (j *judge) options(field string, n *node, into map[string]jsontext.Value) {
	for _, o := range n.members {
		if o.dropped {
			continue
		}
		value := jsontext.Value(j.text[o.value.start:o.value.end])
		if bad := checkOption(o.name, value); bad.is() {
			j.drop(join(field, o.name), o, bad)
			continue
		}
		into[o.name] = value
	}
}

func (f Feature) check() fault {
	if bad := checkFeatureID(f.ID); bad.is() {
		return bad
	}
	for name, value := range f.Options {
		if bad := checkOption(name, value); bad.is() {
			return fault{"options." + name + ": " + bad.reason, bad.fix}
		}
	}
	return fault{}
}

func checkFeatureID(id string) fault {
	if id == "" || hasControl(id) {
		return fault{"the feature's id is empty or has control characters in it", "want a reference such as ghcr.io/devcontainers/features/go:1"}
	}
	return fault{}
}

// checkOption takes what an install script can be handed. A fraction would be
// another text on another machine.
func checkOption(name string, value jsontext.Value) fault {
	if name == "" {
		return fault{"an option has no name", "name it, or remove it"}
	}
	switch value.Kind() {
	case '"', 't', 'f':
		return fault{}
	case '0':
		if plainInteger(string(value)) {
			return fault{}
		}
		return fault{fmt.Sprintf("got the number %s", printable(string(value))), "write it as a string; numbers are integers from 0 to 9007199254740991 (2^53-1) in plain digits"}
	}
	return fault{"got " + kindName(value.Kind()), "an option is a string, a boolean or an integer"}
}

func plainInteger(s string) bool {
	const most = "9007199254740991"
	for _, c := range s {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(s) < len(most) || len(s) == len(most) && s <= most
}

func hasControl(s string) bool { return strings.ContainsFunc(s, unicode.IsControl) }
