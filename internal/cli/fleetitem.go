package cli

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/internal/jcs"
	"github.com/joulebox/joulebox/supervisor"
)

// unitItem is a request to run a unit as a line of a fleet or a step of a build has
// it: what joulebox run takes on its command line.
type unitItem struct {
	Program string   `json:"program,omitzero"` // a build's step may take it from another
	Args    []string `json:"args,omitempty"`
	Lang    string   `json:"lang,omitzero"`
	Entry   string   `json:"entry,omitzero"`
	// Grants are as people write them, as one object.
	Grants jsontext.Value `json:"grants,omitzero"`
	// The budgets are as the flags of the same names have them.
	Timeout string `json:"timeout,omitzero"`
	Memory  string `json:"memory,omitzero"`
	Energy  string `json:"energy,omitzero"`
	// Env are NAME=VALUE, or NAME to hand on this process's value; Mounts HOST:GUEST.
	Env       []string `json:"env,omitempty"`
	Mounts    []string `json:"mounts,omitempty"`
	Stdin     string   `json:"stdin,omitzero"` // a file
	Trusted   bool     `json:"trusted,omitzero"`
	Sensitive bool     `json:"sensitive,omitzero"`
}

// parseItem reads a line. The item's id is the address of its canonical form, so
// its layout doesn't count.
func parseItem(line []byte) (it unitItem, id joulebox.ID, err error) {
	if err := jcs.Unmarshal(line, &it); err != nil {
		return it, id, err
	}
	core, err := jcs.Strict(line)
	if err != nil {
		return it, id, err
	}
	if _, err := it.grants(); err != nil {
		return it, id, err
	}
	return it, joulebox.Sum(core), it.check()
}

func (it *unitItem) check() error {
	switch {
	case it.Program == "":
		return errors.New("program: want the path of a module or a script")
	case it.Program == "-":
		return errors.New("program: got -, want a path; items have no standard input in common")
	}
	return nil
}

// flags are the run's flags that the item stands for.
func (it *unitItem) flags() *runFlags {
	f := new(runFlags)
	f.register(pflag.NewFlagSet("item", pflag.ContinueOnError))
	f.lang, f.entry, f.stdin, f.env, f.mounts = it.Lang, it.Entry, it.Stdin, it.Env, it.Mounts
	f.timeout, f.memory, f.energy = it.Timeout, it.Memory, it.Energy
	f.trusted, f.sensitive = it.Trusted, it.Sensitive
	return f
}

func (it *unitItem) grants() (from grant.Set, err error) {
	if it.Grants != nil {
		if from, err = grant.ParseHuman(it.Grants, defaultBudgets); err != nil {
			return from, fmt.Errorf("grants: %w", err)
		}
	}
	b := grant.NewBuilder(from)
	if err := it.flags().addTo(b); err != nil {
		return from, err
	}
	return b.Build(defaultBudgets)
}

// prepared is an item that has been read and looked up, ready to run.
type prepared struct {
	request supervisor.Request
	handed  *handed
}

// prepare finds the item's program and what is handed to it. The unit's output goes
// to the writers; what the unit logs is dropped.
func (it *unitItem) prepare(c *console, challenge []byte, out, err io.Writer) (p prepared, failed error) {
	f := it.flags()
	program, failed := f.program(context.Background(), c, append([]string{it.Program}, it.Args...))
	if failed != nil {
		return p, failed
	}
	if p.request.Grants, failed = it.grants(); failed != nil {
		return p, failed
	}
	if failed = program.checkNeeds(p.request.Grants); failed != nil {
		return p, failed
	}
	p.request.Placement, p.request.Challenge = f.placement(), challenge
	program.into(&p.request, f.entry)
	if p.handed, failed = f.handed(c, program); failed != nil {
		return p, failed
	}
	p.handed.Stdout, p.handed.Stderr, p.handed.Log = out, err, nil
	if it.Stdin == "" {
		p.handed.Stdin = nil
	}
	return p, nil
}
