// Package conformance holds a host's objects to vectors (§10): files of inputs with
// every value in between, and with what must be refused. The vectors are worked out
// by other code with other libraries (reference/), so that two readings of the
// standard meet here. They are files: any implementation can be held to them.
//
// There are vectors for the classes C6 (run records), C7 (environment manifests),
// C9 (warm pools) and C10 (fleets).
package conformance

import (
	"embed"
	"encoding/json/v2"
	"fmt"
	"io/fs"
	"path"
	"slices"
)

//go:embed vectors/*.json
var embedded embed.FS

// Vectors are the files of the pack: vectors/c6.json and so on.
func Vectors() fs.FS { return embedded }

// Result is what came of one case.
type Result struct {
	Class string `json:"class"`
	Case  string `json:"case"`
	// Err is empty for a case that passed.
	Err string `json:"error,omitempty"`
}

// suite runs the cases of one class.
type suite struct {
	class string
	run   func(r *results, src []byte) error
}

// suites are the classes that there are vectors for.
var suites = []suite{{"C6", c6}, {"C7", c7}, {"C9", c9}, {"C10", c10}}

// Classes lists the classes that Run judges.
func Classes() []string {
	list := make([]string, len(suites))
	for i, s := range suites {
		list[i] = s.class
	}
	return list
}

// results gathers the results of one class.
type results struct {
	class string
	list  []Result
}

// check adds a case; no error is a pass.
func (r *results) check(name string, err error) {
	result := Result{Class: r.class, Case: name}
	if err != nil {
		result.Err = err.Error()
	}
	r.list = append(r.list, result)
}

// Run judges every file of the pack. A class without a file fails: nothing is
// skipped.
func Run() []Result {
	files, err := fs.Glob(embedded, "vectors/*.json")
	if err != nil || len(files) != len(suites) {
		return []Result{{Case: "vectors", Err: fmt.Sprintf("BUG(joulebox): got %d files, %v", len(files), err)}}
	}
	var all []Result
	seen := map[string]bool{}
	for _, file := range files {
		src, err := embedded.ReadFile(file)
		if err != nil {
			return append(all, Result{Case: path.Base(file), Err: err.Error()})
		}
		list := Judge(path.Base(file), src)
		seen[list[0].Class] = true
		all = append(all, list...)
	}
	for _, s := range suites {
		if !seen[s.class] {
			all = append(all, Result{Class: s.class, Case: "vectors", Err: "there are none"})
		}
	}
	return all
}

// Judge runs the cases of one file of vectors. It gives one result at least.
func Judge(name string, src []byte) []Result {
	var head struct {
		Class string `json:"class"`
	}
	if err := json.Unmarshal(src, &head); err != nil {
		return []Result{{Case: name, Err: err.Error()}}
	}
	i := slices.IndexFunc(suites, func(s suite) bool { return s.class == head.Class })
	if i < 0 {
		return []Result{{Class: head.Class, Case: name, Err: fmt.Sprintf("class: got %q, want one of %q", head.Class, Classes())}}
	}
	r := &results{class: head.Class}
	if err := suites[i].run(r, src); err != nil {
		r.check(name, err)
	}
	if len(r.list) == 0 {
		r.check(name, fmt.Errorf("the file has no cases"))
	}
	return r.list
}

// read is strict: a member that is skipped over would be a case that nobody judges.
func read(src []byte, v any) error { return json.Unmarshal(src, v, json.RejectUnknownMembers(true)) }

// same compares a value with what the vectors have.
func same[T comparable](what string, got, want T) error {
	if got != want {
		return fmt.Errorf("%s: got %v, want %v", what, got, want)
	}
	return nil
}

// mustRefuse turns a missing refusal into an error.
func mustRefuse(err error) error {
	if err == nil {
		return fmt.Errorf("it is accepted, want it refused")
	}
	return nil
}
