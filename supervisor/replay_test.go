package supervisor_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/joulebox/joulebox/bundle"
)

// randomRuns is how many runs the property tests make: enough to meet every call
// and every ending. JOULEBOX_REPLAY_RUNS asks for more.
func randomRuns(t *testing.T) uint64 {
	if text := os.Getenv("JOULEBOX_REPLAY_RUNS"); text != "" {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if testing.Short() {
		return 50
	}
	return 1000
}

// TestRandomRunsReplay: whatever a unit does and however it ends, it does again
// from its journal alone, to the same states, counts, outcome and output.
func TestRandomRunsReplay(t *testing.T) {
	h, image := newHouse(t), acting()
	outcomes := map[string]int{}
	var states, entries uint64
	for seed := range randomRuns(t) {
		r := rand.New(rand.NewPCG(seed, 2))
		record, stdout := recordRandom(t, h, r, image)
		if bytes.Contains(record.Journal, []byte(secretValue)) {
			t.Errorf("seed %d: the secret is in the journal", seed)
		}
		report := record.Bundle.WithJournal(record.Journal).Verify(bundle.Options{Pinned: []bundle.Key{{Name: "house", Public: h.Public()}}})
		if report.Verdict != bundle.Valid {
			t.Fatalf("seed %d: %v", seed, report.Failures())
		}
		var again bytes.Buffer
		got, err := replayed(t, image, record, record.Journal, &again)
		if err != nil {
			t.Fatalf("seed %d, %s %s: %v", seed, record.Exit.Outcome, record.Exit.Detail, err)
		}
		if !bytes.Equal(again.Bytes(), stdout.Bytes()) {
			t.Errorf("seed %d: the replay wrote %d bytes, the run %d", seed, again.Len(), stdout.Len())
		}
		if got.Exit.Counts.Units != record.Exit.Counts.Units || got.Exit.Detail != record.Exit.Detail {
			t.Errorf("seed %d: got %+v, want %+v", seed, got.Exit, record.Exit)
		}
		states += got.States
		entries += uint64(len(record.Journal))
		outcomes[fmt.Sprint(record.Exit.Outcome, record.Exit.Detail)]++
	}
	t.Logf("%d states, %d bytes of journals, outcomes %v", states, entries, outcomes)
	if len(outcomes) < 5 {
		t.Errorf("got the outcomes %v alone: the test would prove little", outcomes)
	}
}
