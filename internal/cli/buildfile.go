package cli

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/joulebox/joulebox/internal/jcs"
	"github.com/joulebox/joulebox/ledger"
)

// buildFile is what is to be built, and how.
type buildFile struct {
	// Intent is what is wanted, in words. Its address is part of the build's id.
	Intent string      `json:"intent"`
	Steps  []buildStep `json:"steps"`
}

// buildStep is a unit, and what it gets of steps before it. A step's output is what
// it writes to standard output.
type buildStep struct {
	Name string `json:"name"`
	unitItem
	// ProgramStep and StdinStep name the steps whose output is the program, and
	// standard input.
	ProgramStep string `json:"program_step,omitzero"`
	StdinStep   string `json:"stdin_step,omitzero"`
	// Inputs are files that go into the image, by their path there beneath /in.
	Inputs map[string]buildInput `json:"inputs,omitempty"`
}

// buildInput is a file of this host, or the output of a step.
type buildInput struct {
	File string `json:"file,omitzero"`
	Step string `json:"step,omitzero"`
}

var stepName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`) })

// parseBuildFile names everything that is wrong.
func parseBuildFile(src []byte) (b buildFile, err error) {
	if err := jcs.Unmarshal(src, &b); err != nil {
		return b, err
	}
	var wrong []error
	if strings.TrimSpace(b.Intent) == "" {
		wrong = append(wrong, errors.New("intent: is empty, want what is to be built, in words"))
	}
	if len(b.Steps) == 0 || len(b.Steps) > ledger.MaxSteps {
		wrong = append(wrong, fmt.Errorf("steps: got %d, want 1 to %d", len(b.Steps), ledger.MaxSteps))
	}
	var before []string
	for i := range b.Steps {
		s := &b.Steps[i]
		for _, err := range s.check(before) {
			wrong = append(wrong, fmt.Errorf("steps[%d].%w", i, err))
		}
		before = append(before, s.Name)
	}
	return b, errors.Join(wrong...)
}

func (s *buildStep) check(before []string) (wrong []error) {
	if !stepName().MatchString(s.Name) || slices.Contains(before, s.Name) {
		wrong = append(wrong, fmt.Errorf("name: got %q, want a name of its own of letters, digits, dot, dash and underscore", s.Name))
	}
	needs := func(member, step string) {
		if step != "" && !slices.Contains(before, step) {
			wrong = append(wrong, fmt.Errorf("%s: got %q, want a step before this one: %q", member, step, before))
		}
	}
	needs("program_step", s.ProgramStep)
	needs("stdin_step", s.StdinStep)
	if (s.Program == "") == (s.ProgramStep == "") {
		wrong = append(wrong, errors.New("program: want it or program_step"))
	}
	if s.StdinStep != "" && s.Stdin != "" {
		wrong = append(wrong, errors.New("stdin: want it or stdin_step"))
	}
	for name, in := range s.Inputs {
		if !validInput(name) {
			wrong = append(wrong, fmt.Errorf("inputs: got %q, want a relative path without dots", name))
		}
		if (in.File == "") == (in.Step == "") {
			wrong = append(wrong, fmt.Errorf("inputs.%s: want file or step", name))
		}
		needs("inputs."+name+".step", in.Step)
	}
	if _, err := s.grants(); err != nil {
		wrong = append(wrong, err)
	}
	return wrong
}

func validInput(name string) bool {
	return name != "" && path.Clean(name) == name && !path.IsAbs(name) && name != "." && !strings.HasPrefix(name, "..") && !strings.ContainsAny(name, "\x00\\")
}
