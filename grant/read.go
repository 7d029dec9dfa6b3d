package grant

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/joulebox/joulebox"
)

// reader turns a tree into a Set and collects everything that is wrong. One
// description of the members serves the signed form and the human one.
type reader struct {
	src   []byte
	human bool
	errs  Errors
	// maxSet tells process.max_processes 0 from one that was left out.
	maxSet bool
}

// member is one member of an object: how to read it, and whether the signed
// form may lack it.
type member struct {
	optional bool
	read     func(n *node, field string)
}

func (r *reader) fail(n *node, field, format string, args ...any) {
	if len(r.errs) > maxErrors {
		return
	}
	r.errs.append(&FieldError{Field: field, Pos: n.at.in(r.src), Msg: fmt.Sprintf(format, args...)})
}

// want reports a value of another kind than is wanted.
func (r *reader) want(n *node, field string, k kind) bool {
	if n.kind == k {
		return true
	}
	r.fail(n, field, "got %s, want %s", n.got(), k)
	return false
}

// got is what a value is, for an error: its kind, or its own spelling.
func (n *node) got() string {
	switch n.kind {
	case kindString:
		return fmt.Sprintf("the string %.80q", n.text)
	case kindInt, kindBool:
		return n.text
	case kindOther:
		return fmt.Sprintf("%.80q", n.text)
	}
	return string(n.kind)
}

// object reads the members of an object; people may leave any of them out, and
// may leave the whole object empty.
func (r *reader) object(n *node, field string, members map[string]member) {
	if r.human && n.kind == kindNull || !r.want(n, field, kindObject) {
		return
	}
	names := slices.Sorted(maps.Keys(members))
	for _, name := range n.names {
		if len(r.errs) > maxErrors {
			return
		}
		m, ok := members[name]
		if !ok {
			r.fail(n.members[name], join(field, name), "unknown member%s", suggest(name, names))
			continue
		}
		m.read(n.members[name], join(field, name))
	}
	for _, name := range names {
		if _, ok := n.members[name]; !ok && !members[name].optional && !r.human {
			r.fail(n, join(field, name), "missing; the signed form holds every member, a denied one too")
		}
	}
}

// join extends a path; a name that could mislead a reader is quoted.
func join(field, name string) string {
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-$") != "" {
		name = fmt.Sprintf("%.40q", name)
	}
	if field == "" {
		return name
	}
	return field + "." + name
}

func (r *reader) flag(to *bool) member {
	return member{read: func(n *node, field string) {
		if r.want(n, field, kindBool) {
			*to = n.bool
		}
	}}
}

// integer reads a count with no unit, up to a limit.
func (r *reader) integer(n *node, field string, limit uint64) uint64 {
	if n.kind == kindOther {
		r.fail(n, field, "got %s, want an integer from 0 to %d without sign, fraction or exponent", n.got(), limit)
		return 0
	}
	if !r.want(n, field, kindInt) {
		return 0
	}
	if n.int > limit {
		r.fail(n, field, "got %d, want at most %d", n.int, limit)
		return 0
	}
	return n.int
}

func (r *reader) uint32(to *uint32) member {
	return member{read: func(n *node, field string) { *to = uint32(r.integer(n, field, 1<<32-1)) }}
}

// budget reads a bound with a unit; for people, its text form too.
func (r *reader) budget(to *uint64, parse func(string) (uint64, error)) member {
	return member{read: func(n *node, field string) { r.bound(n, field, to, parse) }}
}

func (r *reader) bound(n *node, field string, to *uint64, parse func(string) (uint64, error)) {
	if r.human && n.kind == kindNull {
		r.fail(n, field, "got null, but no budget is unlimited; leave it out for the host's default, or state a bound")
		return
	}
	if r.human && n.kind == kindString {
		v, err := parse(n.text)
		if err != nil {
			r.fail(n, field, "%v", err)
			return
		}
		*to = v
	} else {
		before := len(r.errs)
		if *to = r.integer(n, field, MaxInteger); len(r.errs) > before {
			return
		}
	}
	if *to == 0 {
		r.fail(n, field, "got 0; with 0 nothing could run")
	}
}

// ceiling reads an optional bound; a person may spell "unset" as null.
func (r *reader) ceiling(to **uint64, parse func(string) (uint64, error)) member {
	return member{optional: true, read: func(n *node, field string) {
		var v uint64
		switch {
		case r.human && n.kind == kindNull:
			return
		case r.human && n.kind == kindString && parse != nil:
			var err error
			if v, err = parse(n.text); err != nil {
				r.fail(n, field, "%v", err)
				return
			}
		default:
			v = r.integer(n, field, MaxInteger)
		}
		*to = &v
	}}
}

// list reads each entry; for people no list is an empty one.
func (r *reader) list(optional bool, entry func(n *node, field string)) member {
	return member{optional: optional, read: func(n *node, field string) {
		if r.human && n.kind == kindNull || !r.want(n, field, kindList) {
			return
		}
		if optional && !r.human && len(n.list) == 0 {
			r.fail(n, field, "got an empty list; leave it out when it is unset")
		}
		if len(n.list) > maxList {
			r.fail(n, field, "got %d entries, want at most %d", len(n.list), maxList)
			return
		}
		for i, child := range n.list {
			entry(child, index(field, i))
		}
	}}
}

// words is how the entries of a list of strings are read: strictly, or as people
// write them, where one entry may stand for several.
type words struct {
	strict func(string) error
	human  func(string) ([]string, error)
}

// texts keeps the strings of the signed form as they are.
func (r *reader) texts(to *[]string, w words) member {
	return r.list(false, func(n *node, field string) {
		if !r.want(n, field, kindString) {
			return
		}
		list, err := []string{n.text}, error(nil)
		if r.human {
			list, err = w.human(n.text)
		} else {
			err = w.strict(n.text)
		}
		if err != nil {
			r.fail(n, field, "%v", err)
			return
		}
		*to = append(*to, list...)
	})
}

func (r *reader) hashes(to *[]joulebox.ID) member {
	return r.list(true, func(n *node, field string) {
		if !r.want(n, field, kindString) {
			return
		}
		id, err := joulebox.ParseID(n.text)
		if err == nil && id.IsZero() {
			err = errZeroHash
		}
		if err != nil {
			r.fail(n, field, "%v", err)
			return
		}
		*to = append(*to, id)
	})
}
