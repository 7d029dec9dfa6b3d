package conformance

import (
	"errors"
	"fmt"
	"slices"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/manifest"
)

type c7File struct {
	Class    string `json:"class"`
	Accepted []struct {
		Why       string      `json:"why"`
		Input     string      `json:"input"`
		Core      string      `json:"core"`
		Address   joulebox.ID `json:"address"`
		Variables []string    `json:"variables"`
	} `json:"accepted"`
	Refused []struct {
		Why    string   `json:"why"`
		Input  string   `json:"input"`
		Fields []string `json:"fields"`
		Places []string `json:"places,omitempty"`
	} `json:"refused"`
}

// c7 holds environment manifests to canonical forms, addresses and refusals (§14).
func c7(r *results, src []byte) error {
	var f c7File
	if err := read(src, &f); err != nil {
		return err
	}
	for _, c := range f.Accepted {
		m, err := manifest.Ingest([]byte(c.Input))
		if err == nil {
			err = errors.Join(same("core", string(m.Core()), c.Core), same("address", m.ID(), c.Address),
				same("variables", fmt.Sprint(m.Variables()), fmt.Sprint(c.Variables)))
		}
		if err == nil {
			var again *manifest.Manifest
			if again, err = manifest.Parse([]byte(c.Core)); err == nil {
				err = same("address of the core", again.ID(), c.Address)
			}
		}
		r.check(c.Why, err)
	}
	for _, c := range f.Refused {
		name := c.Why
		_, err := manifest.Ingest([]byte(c.Input))
		r.check(name, c7Refusals(err, c.Fields, c.Places))
	}
	return nil
}

// c7Refusals: the fields are refused by name, each with its place, a reason and a
// remedy.
func c7Refusals(err error, fields, places []string) error {
	list, ok := errors.AsType[manifest.Refusals](err)
	if !ok {
		return fmt.Errorf("got %v, want refusals", err)
	}
	var got, at []string
	for _, x := range list {
		if x.Reason == "" || x.Fix == "" || x.Line < 1 || x.Column < 1 {
			return fmt.Errorf("%q: got line %d, column %d, reason %q and remedy %q, want all of them", x.Field, x.Line, x.Column, x.Reason, x.Fix)
		}
		got, at = append(got, x.Field), append(at, fmt.Sprintf("%d:%d", x.Line, x.Column))
	}
	if !slices.Equal(got, fields) {
		return fmt.Errorf("got %q refused, want %q", got, fields)
	}
	if places != nil && !slices.Equal(at, places) {
		return fmt.Errorf("got places %q, want %q", at, places)
	}
	return nil
}
