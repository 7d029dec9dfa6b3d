package mcp

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/internal/plainyaml"
)

// policyFile is a policy as an operator writes it, in JSON or YAML.
type policyFile struct {
	Grants   jsontext.Value `json:"grants"`
	Defaults jsontext.Value `json:"defaults"`
	Mounts   []policyMount  `json:"mounts"`
	Modules  []string       `json:"modules"`
	Output   *int           `json:"max_output_bytes"`
	Runs     *int           `json:"runs_at_once"`
}

type policyMount struct {
	Host  string `json:"host"`
	Guest string `json:"guest"`
}

// LoadPolicy reads a policy file. Its grants are written like any grants: what is
// left out can't be granted, and budgets that are left out are this host's.
func LoadPolicy(name string) (Policy, error) {
	src, err := os.ReadFile(name)
	if err != nil {
		return Policy{}, err
	}
	p, err := ParsePolicy(src)
	if err != nil {
		return Policy{}, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

// ParsePolicy reads the text of a policy. Directories in it must be there.
func ParsePolicy(src []byte) (p Policy, err error) {
	text, err := plainyaml.JSON(src)
	if err != nil {
		return p, err
	}
	var f policyFile
	if err := json.Unmarshal(text, &f, json.RejectUnknownMembers(true)); err != nil {
		return p, policyError(err)
	}
	p = Policy{Stated: true, Output: maxOutput}
	if p.Max, err = grant.ParseHuman(orEmpty(f.Grants), Budgets); err != nil {
		return p, fmt.Errorf("grants: %w", err)
	}
	if p.Defaults, err = policyDefaults(f.Defaults, p.Max.Compute); err != nil {
		return p, err
	}
	if err := p.directories(f); err != nil {
		return p, err
	}
	for _, n := range []struct {
		name string
		from *int
		to   *int
		most int
	}{{"max_output_bytes", f.Output, &p.Output, 1 << 20}, {"runs_at_once", f.Runs, &p.Runs, 1 << 12}} {
		if n.from == nil {
			continue
		}
		if *n.from < 1 || *n.from > n.most {
			return p, fmt.Errorf("%s: got %d, want 1 to %d", n.name, *n.from, n.most)
		}
		*n.to = *n.from
	}
	return p, nil
}

func orEmpty(v jsontext.Value) []byte {
	if len(v) == 0 || v.Kind() == 'n' {
		return []byte("{}")
	}
	return v
}

// policyDefaults are budgets alone; what they leave out is the host's, and none of
// them may pass what any call may be granted.
func policyDefaults(v jsontext.Value, most grant.Compute) (grant.Compute, error) {
	set, err := grant.ParseHuman(fmt.Appendf(nil, `{"compute":%s}`, orEmpty(v)), Budgets)
	if err != nil {
		return grant.Compute{}, fmt.Errorf("defaults: %w", err)
	}
	d := set.Compute
	d.EnergyBudgetUJ = min(d.EnergyBudgetUJ, most.EnergyBudgetUJ)
	d.CPUTimeMS = min(d.CPUTimeMS, most.CPUTimeMS)
	d.MemoryBytes = min(d.MemoryBytes, most.MemoryBytes)
	return d, nil
}

func (p *Policy) directories(f policyFile) error {
	for i, m := range f.Mounts {
		guest, err := grant.CanonicalPath(m.Guest)
		if err != nil || guest != m.Guest {
			return fmt.Errorf("mounts[%d].guest: got %q, want a canonical absolute path", i, m.Guest)
		}
		if err := isDirectory(m.Host); err != nil {
			return fmt.Errorf("mounts[%d].host: %w", i, err)
		}
		p.Mounts = append(p.Mounts, host.Mount{Guest: m.Guest, Host: m.Host})
	}
	for i, dir := range f.Modules {
		if err := isDirectory(dir); err != nil {
			return fmt.Errorf("modules[%d]: %w", i, err)
		}
		p.Modules = append(p.Modules, dir)
	}
	return nil
}

func isDirectory(dir string) error {
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("got %q, want an absolute path", dir)
	}
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is no directory", dir)
	}
	return err
}

// policyError names the member that is wrong.
func policyError(err error) error {
	var s *json.SemanticError
	if errors.As(err, &s) {
		if errors.Is(err, json.ErrUnknownName) {
			return fmt.Errorf("%s: no such member; want some of grants, defaults, mounts, modules, max_output_bytes, runs_at_once", s.JSONPointer)
		}
		return fmt.Errorf("%s: got a JSON %v, want a %v", s.JSONPointer, s.JSONKind, s.GoType)
	}
	return err
}
