package mcp

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// arguments are a tool call's, read one by one. Whatever is wrong is collected, so
// that the caller hears of all of it at once.
type arguments struct {
	values map[string]jsontext.Value
	wrong  []string
}

// readArguments splits an object into its members; known are the tool's.
func readArguments(src []byte, known []string) *arguments {
	a := &arguments{values: map[string]jsontext.Value{}}
	src = bytes.TrimSpace(src)
	if len(src) == 0 || string(src) == "null" {
		return a
	}
	if err := json.Unmarshal(src, &a.values); err != nil {
		a.fail("arguments", "want an object whose members are there once each")
		a.values = map[string]jsontext.Value{}
		return a
	}
	for name, v := range a.values {
		switch {
		case !slices.Contains(known, name):
			a.wrong = append(a.wrong, unknownArgument(name, known))
		case v.Kind() == 'n': // null is how some clients spell "unset"
			delete(a.values, name)
		}
	}
	slices.Sort(a.wrong)
	return a
}

// unknownArgument names a member that no tool has, and what may have been meant.
func unknownArgument(name string, known []string) string {
	if len(name) > 64 {
		name = name[:64] + "…"
	}
	fold := func(s string) string {
		return strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "").Replace(s))
	}
	for _, k := range known {
		f, _ := fieldNamed(k)
		if fold(k) == fold(name) || f.member != "" && fold(f.member) == fold(name) {
			return fmt.Sprintf("%s: no such argument; write %s", strconv.Quote(name), k)
		}
	}
	return fmt.Sprintf("%s: no such argument; want some of %s", strconv.Quote(name), strings.Join(known, ", "))
}

func (a *arguments) fail(name, format string, args ...any) {
	a.wrong = append(a.wrong, name+": "+fmt.Sprintf(format, args...))
}

func (a *arguments) has(name string) bool { return a.values[name] != nil }

// err is everything that is wrong, one line each.
func (a *arguments) err() error {
	if len(a.wrong) == 0 {
		return nil
	}
	return &refused{Message: strings.Join(a.wrong, "\n")}
}

// mismatch says what was got without handing back more than a glance of it.
func (a *arguments) mismatch(name, want string) {
	got := string(a.values[name])
	if len(got) > 40 {
		got = strings.ToValidUTF8(got[:40], "") + "…"
	}
	a.fail(name, "got %s, want %s", got, want)
}

func (a *arguments) text(name string) (s string) {
	if v, ok := a.values[name]; ok && (v.Kind() != '"' || json.Unmarshal(v, &s) != nil) {
		a.mismatch(name, "a string")
	}
	return s
}

func (a *arguments) flag(name string) bool {
	v, ok := a.values[name]
	if ok && v.Kind() != 't' && v.Kind() != 'f' {
		a.mismatch(name, "true or false")
	}
	return v.Kind() == 't'
}

// number reads an unsigned integer as it is written: no fraction, no exponent, no
// rounding.
func (a *arguments) number(name string, most uint64) (n uint64) {
	v, ok := a.values[name]
	if !ok {
		return 0
	}
	n, err := strconv.ParseUint(string(v), 10, 64)
	if err != nil || n > most {
		a.mismatch(name, fmt.Sprintf("an integer from 0 to %d", most))
		return 0
	}
	return n
}

func (a *arguments) texts(name string) (list []string) {
	v, ok := a.values[name]
	if !ok {
		return nil
	}
	var entries []jsontext.Value
	if v.Kind() != '[' || json.Unmarshal(v, &entries) != nil {
		a.mismatch(name, "a list of strings")
		return nil
	}
	list = make([]string, len(entries))
	for i, e := range entries {
		if e.Kind() != '"' || json.Unmarshal(e, &list[i]) != nil {
			a.fail(fmt.Sprintf("%s[%d]", name, i), "want a string")
		}
	}
	return list
}

// variables reads an object of strings as NAME=value, sorted.
func (a *arguments) variables(name string) (env []string) {
	v, ok := a.values[name]
	if !ok {
		return nil
	}
	var members map[string]jsontext.Value
	if v.Kind() != '{' || json.Unmarshal(v, &members) != nil {
		a.mismatch(name, "an object whose values are strings")
		return nil
	}
	for k, m := range members {
		var value string
		switch {
		case m.Kind() != '"' || json.Unmarshal(m, &value) != nil:
			a.fail(name+"."+k, "want a string")
		case k == "" || strings.Contains(k, "="):
			a.fail(name, "got the name %q, want one without =", k)
		}
		env = append(env, k+"="+value)
	}
	slices.Sort(env)
	return env
}

// quoted is a string as JSON.
func quoted(s string) string {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil { // not UTF-8: what was wrong with it is replaced
		b, _ = jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\ufffd"))
	}
	return string(b)
}
