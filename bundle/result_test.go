package bundle_test

import (
	"strings"
	"testing"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/attestation"
	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/receipt"
)

func code(n uint32) *uint32 { return &n }

// Which result goes with which outcome.
func TestResultFitsOutcome(t *testing.T) {
	breach := joulebox.Terminated(joulebox.BreachTime)
	for _, c := range []struct {
		name   string
		result bundle.Result
		fits   []joulebox.Outcome
	}{
		{"exit 0", bundle.Result{ExitCode: code(0)}, []joulebox.Outcome{joulebox.Completed}},
		{"exit 1", bundle.Result{ExitCode: code(1)}, []joulebox.Outcome{joulebox.Failed}},
		{"exit 2^32-1", bundle.Result{ExitCode: code(1<<32 - 1)}, []joulebox.Outcome{joulebox.Failed}},
		{"signal", bundle.Result{Signal: 9}, []joulebox.Outcome{joulebox.Failed, breach}},
		{"nothing", bundle.Result{}, []joulebox.Outcome{joulebox.Failed, breach}},
		{"trap", bundle.Result{Cause: bundle.CauseTrap}, []joulebox.Outcome{joulebox.Failed}},
		{"trap with a code", bundle.Result{Cause: bundle.CauseTrap, ExitCode: code(1)}, nil},
		{"cancelled", bundle.Result{Cause: bundle.CauseCancelled}, []joulebox.Outcome{joulebox.Failed}},
		{"cancelled by a signal", bundle.Result{Cause: bundle.CauseCancelled, Signal: 15}, []joulebox.Outcome{joulebox.Failed}},
		{"cancelled with 0", bundle.Result{Cause: bundle.CauseCancelled, ExitCode: code(0)}, nil},
		{"suspended", bundle.Result{Cause: bundle.CauseSuspended}, []joulebox.Outcome{joulebox.Completed}},
		{"suspended with 0", bundle.Result{Cause: bundle.CauseSuspended, ExitCode: code(0)}, nil},
		{"another word", bundle.Result{Cause: "x_1", ExitCode: code(3)}, []joulebox.Outcome{joulebox.Failed}},
	} {
		for _, o := range []joulebox.Outcome{joulebox.Completed, joulebox.Failed, breach, {}} {
			want := false
			for _, f := range c.fits {
				want = want || f == o
			}
			if err := c.result.Fits(o); (err == nil) != want {
				t.Errorf("%s with %s: got error %v, want it to fit: %v", c.name, o, err, want)
			}
		}
	}
}

func TestResultRefusals(t *testing.T) {
	ok := honest().result
	for _, c := range []struct {
		want string
		edit func(r *bundle.Result)
	}{
		{"stdin_b3", func(r *bundle.Result) { r.Stdin = joulebox.ID{} }},
		{"stdout_b3", func(r *bundle.Result) { r.Stdout = joulebox.ID{} }},
		{"stderr_b3", func(r *bundle.Result) { r.Stderr = joulebox.ID{} }},
		{"at most one", func(r *bundle.Result) { r.Signal = 1 }},
		{"result.signal", func(r *bundle.Result) { r.ExitCode, r.Signal = nil, 65 }},
		{"result.cause", func(r *bundle.Result) { r.Cause = "Trap!" }},
		{"result.cause", func(r *bundle.Result) { r.Cause = strings.Repeat("x", 33) }},
		{"/usage/io_reads", func(r *bundle.Result) { r.Usage.IOReads = 1 << 53 }},
	} {
		r := ok
		c.edit(&r)
		if _, err := r.ID(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got error %v, want it to name %q", err, c.want)
		}
	}
}

// All breaches: a budget leaves a valid run, tampering never does.
func TestBreaches(t *testing.T) {
	for _, breach := range joulebox.Breaches() {
		r := honest()
		r.result.ExitCode, r.fields.Outcome = nil, joulebox.Terminated(breach)
		got := r.bundle(t).Verify(pinned(r.key))
		if breach.Tampering() {
			wantFailures(t, got, "untampered")
			continue
		}
		wantFailures(t, got)
	}
}

func TestNotes(t *testing.T) {
	wantNote(t, honest(), "tier asserted by the host", true)
	wantNote(t, honest(), "the EAT alone proves none", true)
	wantNote(t, honest(), "Cpu energy is a coarse estimate (Estimator)", true)
	wantNote(t, sovereign(), "tier asserted by the host", false)
	wantNote(t, sovereign(), "Cpu energy wasn't measured", true)

	r := honest()
	r.energy = []receipt.Energy{receipt.Modelled(joulebox.CPU, 6e6)}
	wantNote(t, r, "Cpu energy comes from a model", true)
	wantNote(t, r, "used 6000000 microjoules of a budget of 5000000", true)
	r.energy = []receipt.Energy{receipt.Measured(joulebox.CPU, 1, 6e6)}
	wantNote(t, r, "of a budget of", false)
	wantNote(t, r, "Cpu energy", false)
	r.fields.Probing = []attestation.Probe{attestation.ProbeFilesystem}
	if c := status(t, r.bundle(t).Verify(pinned(r.key)), "probing"); !strings.Contains(c.Detail, "filesystem_walk") {
		t.Errorf("got %q, want the probing named", c.Detail)
	}
}
