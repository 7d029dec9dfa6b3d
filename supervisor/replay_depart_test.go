package supervisor_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/journal"
	"github.com/joulebox/joulebox/supervisor"
)

// entriesOf reads a journal's entries but the salt.
func entriesOf(t testing.TB, container []byte) (list []journal.Entry) {
	t.Helper()
	j, err := journal.Read(container)
	if err != nil {
		t.Fatal(err)
	}
	for n := uint64(2); n <= j.Len(); n++ {
		e, err := j.Entry(n)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

// forged writes entries as a host would that lies about its own run: with checks
// and a root that fit.
func forged(t testing.TB, like []byte, entries []journal.Entry) *journal.Journal {
	t.Helper()
	old, err := journal.Read(like)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w, err := journal.NewWriter(&b, old.Salt, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := w.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	j, err := journal.Read(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// TestAForgedEntryDeparts: what a unit did can't be told otherwise, even by who
// may sign. A call that is named otherwise, or made with other arguments, is
// refused at its entry; other units or an other end, where they come out.
func TestAForgedEntryDeparts(t *testing.T) {
	h, image := newHouse(t), acting()
	changes := map[string]func(c *journal.Call){
		"name":      func(c *journal.Call) { c.Name = "sandbox.nothing" },
		"arguments": func(c *journal.Call) { c.Args = append(append([]uint64{}, c.Args...), 1) },
		"far write": func(c *journal.Call) {
			c.Writes = append(append([]journal.Write{}, c.Writes...), journal.Write{At: 1 << 31, Bytes: []byte{1}})
		},
		"no such secret": func(c *journal.Call) {
			c.Writes = append(append([]journal.Write{}, c.Writes...), journal.Write{At: 0, Secret: 7})
		},
	}
	tried := 0
	for seed := range uint64(4) {
		record, _ := recordRandom(t, h, rand.New(rand.NewPCG(seed, 3)), image)
		entries := entriesOf(t, record.Journal)
		for i, e := range entries {
			call, ok := e.(*journal.Call)
			if !ok {
				continue
			}
			for name, change := range changes {
				lie := *call
				change(&lie)
				wantDeparture(t, name, image, forgedWith(t, record.Journal, entries, i, &lie), uint64(i+2), true)
				tried++
			}
			lie := *call
			lie.Units++
			wantDeparture(t, "units", image, forgedWith(t, record.Journal, entries, i, &lie), uint64(i+2), false)
		}
		last := len(entries) - 1
		end := *entries[last].(*journal.End)
		end.State.Hash[0] ^= 1
		wantDeparture(t, "state", image, forgedWith(t, record.Journal, entries, last, &end), uint64(last+2), true)
		without := append(append([]journal.Entry{}, entries[:1]...), entries[2:]...)
		wantDeparture(t, "left out", image, forged(t, record.Journal, without), 3, false)
	}
	if tried < 100 {
		t.Errorf("only %d lies were told: the test would prove little", tried)
	}
}

func forgedWith(t testing.TB, like []byte, entries []journal.Entry, i int, e journal.Entry) *journal.Journal {
	t.Helper()
	changed := append([]journal.Entry{}, entries...)
	changed[i] = e
	return forged(t, like, changed)
}

func wantDeparture(t testing.TB, what string, image []byte, j *journal.Journal, n uint64, exactly bool) {
	t.Helper()
	_, err := host.Replay{Journal: j, Module: image, Secrets: map[string]string{"TOKEN": secretValue}}.Run(t.Context(), replayEngine(t))
	var at *journal.Error
	if !errors.As(err, &at) || at.Entry < n || exactly && at.Entry != n || at.Want == at.Got {
		t.Errorf("%s: got %v, want a departure at entry %d", what, err, n)
	}
}

// TestAnotherRunsJournalIsRefused before anything runs.
func TestAnotherRunsJournalIsRefused(t *testing.T) {
	h, image := newHouse(t), acting()
	one, _ := recordRandom(t, h, rand.New(rand.NewPCG(1, 4)), image)
	two, _ := recordRandom(t, h, rand.New(rand.NewPCG(1, 4)), image)
	_, err := supervisor.ReadJournal(one.Bundle, two.Journal)
	var wrong *supervisor.ReplayError
	if !errors.As(err, &wrong) || wrong.What != "journal_root" {
		t.Errorf("got %v, want another root: no two journals have one salt", err)
	}
	_, err = replayed(t, image, one, one.Journal[:len(one.Journal)-1], nil)
	var at *journal.Error
	if !errors.As(err, &at) {
		t.Errorf("a cut journal: got %v", err)
	}
	found, err := supervisor.Journal(t.Context(), h.store, one.Bundle)
	if err != nil || !bytes.Equal(found, one.Journal) {
		t.Errorf("the store gives %d bytes, %v, want the journal of %d", len(found), err, len(one.Journal))
	}
}

// actingRun makes one run of given actions.
func actingRun(t testing.TB, ctx context.Context, j *host.JournalConfig, actions ...[]byte) (*supervisor.Record, house, []byte) {
	t.Helper()
	h, image := newHouse(t), acting()
	q := actingRequest(rand.New(rand.NewPCG(5, 5)), image)
	q.Grants.Compute = budgets()
	q.Grants.Compute.EnergyBudgetUJ = 1 << 40
	q.Grants.Host.Random = true
	p, err := h.Plan(q)
	if err != nil {
		t.Fatal(err)
	}
	record, err := h.Run(ctx, p, host.BrokerConfig{Stdin: bytes.NewReader(bytes.Join(actions, nil)), Journal: j, Env: []string{"TOKEN=" + secretValue}})
	if err != nil {
		t.Fatal(err)
	}
	return record, h, image
}

// TestSecretsStayOut: the value of a secret isn't in the journal, also when the
// unit brings it back in through the host; without it nothing replays.
func TestSecretsStayOut(t *testing.T) {
	wasi := "wasi_snapshot_preview1"
	record, _, image := actingRun(t, t.Context(), &host.JournalConfig{Secrets: []string{"TOKEN"}},
		action(findFunc(wasi, "environ_get"), placeWords, placeBytes),
		put(placeNames, "key"),
		action(findFunc("sandbox", "kv_put"), placeNames, 3, placeBytes, 100),
		action(findFunc("sandbox", "kv_get"), placeNames, 3, placeBytes+1000, 100))
	if record.NoJournal != nil || bytes.Contains(record.Journal, []byte(secretValue)) {
		t.Fatalf("the secret is in the journal, or there is none: %v", record.NoJournal)
	}
	references := 0
	for _, e := range entriesOf(t, record.Journal) {
		if c, ok := e.(*journal.Call); ok {
			for _, w := range c.Writes {
				if w.Bytes == nil {
					references++
				}
			}
		}
	}
	if references != 2 {
		t.Errorf("got %d references to the secret, want 2", references)
	}
	if _, err := replayed(t, image, record, record.Journal, nil); err != nil {
		t.Error(err)
	}
	j, err := supervisor.ReadJournal(record.Bundle, record.Journal)
	if err != nil {
		t.Fatal(err)
	}
	for _, secrets := range []map[string]string{nil, {"TOKEN": "a guess"}} {
		_, err := host.Replay{Journal: j, Module: image, Secrets: secrets}.Run(t.Context(), replayEngine(t))
		var missing *host.MissingError
		if !errors.As(err, &missing) {
			t.Errorf("with %v: got %v, want the secret asked for", secrets, err)
		}
	}
}

// TestACancelledRunReplays to the unit at which it was cancelled.
func TestACancelledRunReplays(t *testing.T) {
	actingRun(t, t.Context(), nil) // has the module compiled
	for _, after := range []time.Duration{0, time.Millisecond, 20 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		defer cancel()
		record, _, image := actingRun(t, ctx, &host.JournalConfig{}, action(actSpin, 1<<31-1))
		if record.Exit.Cause != host.CauseCancelled || record.NoJournal != nil {
			t.Fatalf("got %+v, %v", record.Exit, record.NoJournal)
		}
		got, err := replayed(t, image, record, record.Journal, nil)
		if err != nil || got.Exit.Counts.Units != record.Exit.Counts.Units {
			t.Errorf("after %v: got %v, %+v", after, err, got)
		}
	}
}

// TestAFullJournalEndsTheRun, and the journal is whole up to there.
func TestAFullJournalEndsTheRun(t *testing.T) {
	var actions [][]byte
	for range 100 {
		actions = append(actions, action(findFunc("wasi_snapshot_preview1", "random_get"), placeBytes, 1000))
	}
	record, _, image := actingRun(t, t.Context(), &host.JournalConfig{Limit: 32 << 10}, actions...)
	if record.Exit.Cause != host.CauseCancelled || record.NoJournal != nil || len(record.Journal) > 32<<10 {
		t.Fatalf("got %+v, %v, %d bytes", record.Exit, record.NoJournal, len(record.Journal))
	}
	entries := entriesOf(t, record.Journal)
	if _, ok := entries[len(entries)-2].(*journal.Cut); !ok {
		t.Errorf("got %s before the end, want the call that didn't fit", journal.Describe(entries[len(entries)-2]))
	}
	if _, err := replayed(t, image, record, record.Journal, nil); err != nil {
		t.Error(err)
	}
}

// TestStatesOnTheWay are compared too.
func TestStatesOnTheWay(t *testing.T) {
	yield := action(findFunc("wasi_snapshot_preview1", "sched_yield"))
	record, _, image := actingRun(t, t.Context(), &host.JournalConfig{Every: 1},
		action(actSpin, 2<<20), yield, yield, action(actSpin, 2<<20), yield)
	states := 0
	for i, e := range entriesOf(t, record.Journal) {
		s, ok := e.(*journal.State)
		if !ok {
			continue
		}
		states++
		lie := *s
		lie.Hash[3] ^= 4
		wantDeparture(t, "state", image, forgedWith(t, record.Journal, entriesOf(t, record.Journal), i, &lie), uint64(i+2), true)
	}
	if got, err := replayed(t, image, record, record.Journal, nil); err != nil || states < 2 || got.States != uint64(states)+1 {
		t.Errorf("got %+v, %v for a journal of %d states on the way", got, err, states)
	}
}

// TestAJournalNeedsCountedInstructions: at S0 nothing of the unit runs.
func TestAJournalNeedsCountedInstructions(t *testing.T) {
	h := newHouse(t)
	p, err := h.Plan(request(returns(0), func(q *supervisor.Request) { q.Placement.Trusted = true }))
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.Run(t.Context(), p, host.BrokerConfig{Journal: &host.JournalConfig{}})
	var refused *host.RefusedError
	if !errors.As(err, &refused) {
		t.Errorf("got %v, want it refused", err)
	}
}
