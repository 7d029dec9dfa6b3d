package jcs

import (
	"bytes"
	"slices"
	"sync"
)

// ordered is a text with the members of every object in their order (RFC 8785
// §3.2.3). The text must be one that json.Marshal wrote: valid, without white
// space, each string in its shortest form and integers alone. That leaves only
// the order for the canonical form. ok is false where a name isn't plain ASCII,
// whose order is another one than that of its bytes.
func ordered(text []byte) (out []byte, ok bool) {
	o := orderers.Get().(*orderer)
	o.src, o.out, o.plain = text, make([]byte, 0, len(text)), true
	o.value(0)
	out, ok = o.out, o.plain
	o.src, o.out = nil, nil
	clear(o.members[:cap(o.members)])
	orderers.Put(o)
	return out, ok
}

var orderers = sync.Pool{New: func() any { return &orderer{} }}

type orderer struct {
	src, out []byte
	members  []member // of the objects that are open
	unsorted []byte   // scratch
	plain    bool
}

// member is `"name":value,` in out.
type member struct {
	name    []byte // between the quotes
	at, end int
}

// value writes the value at src[i] and returns where it ends.
func (o *orderer) value(i int) int {
	switch o.src[i] {
	case '{':
		return o.object(i)
	case '[':
		return o.array(i)
	case '"':
		return o.copy(i, endOfString(o.src, i)+1)
	}
	end := i
	for end < len(o.src) && o.src[end] != ',' && o.src[end] != ']' && o.src[end] != '}' {
		end++
	}
	return o.copy(i, end)
}

func (o *orderer) copy(i, end int) int {
	o.out = append(o.out, o.src[i:end]...)
	return end
}

func (o *orderer) array(i int) int {
	i = o.copy(i, i+1)
	for o.src[i] != ']' {
		i = o.value(i)
		if o.src[i] == ',' {
			i = o.copy(i, i+1)
		}
	}
	return o.copy(i, i+1)
}

func (o *orderer) object(i int) int {
	i = o.copy(i, i+1)
	first, begin := len(o.members), len(o.out)
	for o.src[i] != '}' {
		end := endOfString(o.src, i)
		m := member{name: o.src[i+1 : end], at: len(o.out)}
		o.plain = o.plain && plainName(m.name)
		i = o.value(o.copy(i, end+2)) // the colon too
		o.out = append(o.out, ',')
		m.end = len(o.out)
		o.members = append(o.members, m)
		if o.src[i] == ',' {
			i++
		}
	}
	o.sort(o.members[first:], begin)
	o.members = o.members[:first]
	if last := len(o.out) - 1; last >= begin {
		o.out[last] = '}' // in place of the last comma
		return i + 1
	}
	return o.copy(i, i+1)
}

// sort brings the members that lie in out from begin on into their order.
func (o *orderer) sort(list []member, begin int) {
	byName := func(a, b member) int { return bytes.Compare(a.name, b.name) }
	if slices.IsSortedFunc(list, byName) {
		return
	}
	o.unsorted = append(o.unsorted[:0], o.out[begin:]...)
	slices.SortFunc(list, byName)
	o.out = o.out[:begin]
	for _, m := range list {
		o.out = append(o.out, o.unsorted[m.at-begin:m.end-begin]...)
	}
}

func plainName(name []byte) bool {
	for _, c := range name {
		if c < ' ' || c > '~' || c == '\\' {
			return false
		}
	}
	return true
}
