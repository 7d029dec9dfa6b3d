package supervisor_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/custody"
	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/store"
	"github.com/joulebox/joulebox/supervisor"
)

// crashDir, set in the environment, makes this test binary the child that runs
// units in the directory until it is killed.
const crashDir = "JOULEBOX_TEST_CRASH_DIR"

// onDisk is a house whose key and records are in a directory.
func onDisk(t testing.TB, dir string, change ...func(*supervisor.Config)) (house, *store.Dir) {
	t.Helper()
	// As the command does it: the key comes first, and records without one are an
	// error, never a new key.
	_, err := os.Stat(filepath.Join(dir, "store"))
	key, _, err := custody.Ensure("file:"+filepath.Join(dir, "key"), err == nil)
	if err != nil {
		t.Fatal(err)
	}
	disk, err := store.Open(filepath.Join(dir, "store"))
	if err != nil {
		t.Fatal(err)
	}
	h := newHouse(t, append(change, func(c *supervisor.Config) {
		c.Signer, c.Sequence, c.Objects, c.Log = key, key.Next, disk, disk
	})...)
	return h, disk
}

func TestKilledAtAnyInstantLosesNothing(t *testing.T) {
	if dir := os.Getenv(crashDir); dir != "" {
		runUntilKilled(t, dir)
		return
	}
	dir := t.TempDir()
	var acknowledged []string
	// On a busy machine few get so far before they are killed.
	for kills := 0; kills < 40 || len(acknowledged) < 40 && kills < 400; kills++ {
		acknowledged = append(acknowledged, killedRuns(t, dir)...)
	}
	if len(acknowledged) < 40 {
		t.Fatalf("only %d runs were acknowledged before the kills: the test would prove little", len(acknowledged))
	}
	checkAfterCrashes(t, dir, acknowledged)
}

func runUntilKilled(t *testing.T, dir string) {
	h, _ := onDisk(t, dir, inProcess)
	for i := 0; ; i++ {
		r := h.run(t, request(returns(i%3)), host.BrokerConfig{})
		fmt.Println("acknowledged", r.Bundle.Statement().ID())
	}
}

// killedRuns starts a child and kills it a random moment after its first line,
// or before it has any. It returns what the child acknowledged.
func killedRuns(t *testing.T, dir string) (acknowledged []string) {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^TestKilledAtAnyInstantLosesNothing$", "-test.v")
	c.Env = append(os.Environ(), crashDir+"="+dir)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(20*time.Millisecond+rand.N(150*time.Millisecond), func() { _ = c.Process.Kill() })
	for s := bufio.NewScanner(out); s.Scan(); {
		id, ok := strings.CutPrefix(s.Text(), "acknowledged ")
		if _, err := joulebox.ParseID(id); ok && err == nil { // a line cut short by the kill is none
			acknowledged = append(acknowledged, id)
		}
		if strings.Contains(s.Text(), "FAIL") {
			t.Errorf("the child failed by itself: %s", s.Text())
		}
	}
	_ = c.Wait()
	return acknowledged
}

func checkAfterCrashes(t *testing.T, dir string, acknowledged []string) {
	t.Helper()
	h, disk := onDisk(t, dir)
	seen := map[string]bool{}
	sequences := map[uint64]bool{}
	for rec, err := range disk.Records(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		b, err := bundle.Parse(rec.Data)
		if err != nil {
			t.Fatalf("a torn record surfaces: %v", err)
		}
		if report := b.Verify(bundle.Options{Pinned: []bundle.Key{{Public: h.Public()}}}); report.Verdict != bundle.Valid {
			t.Errorf("record %s: %v", b.Statement().ID(), report.Failures())
		}
		for _, id := range []joulebox.ID{b.Unit().ImageID, b.UnitID(), b.Statement().Fields().GrantsID} {
			if _, err := disk.Get(context.Background(), id); err != nil {
				t.Errorf("record %s names what a crash took away: %v", b.Statement().ID(), err)
			}
		}
		n := b.Receipt().Sequence()
		if sequences[n] {
			t.Errorf("sequence number %d is used twice", n)
		}
		sequences[n], seen[b.Statement().ID().String()] = true, true
	}
	for _, id := range acknowledged {
		if !seen[id] {
			t.Errorf("run %s was acknowledged and is gone", id)
		}
	}
	// The house goes on.
	h.run(t, request(returns(0)), host.BrokerConfig{})
}
