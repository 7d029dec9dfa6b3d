package store_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/joulebox/joulebox"
	"github.com/joulebox/joulebox/store"
)

const (
	childEnv     = "JOULEBOX_STORE_TEST_CHILD"
	killSegments = 256 << 10
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		fmt.Println("failed", child(dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// child appends and puts until it's killed, and says what was acknowledged.
func child(dir string) error {
	s, err := store.OpenSmall(dir, killSegments)
	if err != nil {
		return err
	}
	for {
		var token [8]byte
		rand.Read(token[:])
		data := killRecord(hex.EncodeToString(token[:]))
		if _, err := s.Put(context.Background(), data); err != nil {
			return err
		}
		fmt.Printf("object %x\n", token)
		if _, err := s.Append(context.Background(), data, joulebox.Sum(data)); err != nil {
			return err
		}
		fmt.Printf("record %x\n", token)
	}
}

// killRecord has a size that follows from its token, up to 200 KB now and then.
func killRecord(token string) []byte {
	size := 16 + int(token[0])*int(token[1])%700
	if strings.HasPrefix(token, "f") {
		size *= 400
	}
	return bytes.Repeat([]byte(token), size/16+1)
}

// acknowledged collects what children said.
type acknowledged struct {
	mu     sync.Mutex
	tokens map[string]map[string]bool // by kind
	failed string
}

// runAndKill starts a child and kills it in the midst of its work.
func (a *acknowledged) runAndKill(t *testing.T, dir string) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Error(err)
		return
	}
	if err := cmd.Start(); err != nil {
		t.Error(err)
		return
	}
	// Some are killed while they start, most when they have got somewhere.
	early := mathrand.IntN(4) == 0
	moment := func() time.Duration { return time.Duration(mathrand.IntN(40)) * time.Millisecond }
	timer := time.AfterFunc(map[bool]time.Duration{true: moment(), false: time.Minute}[early], func() { cmd.Process.Kill() })
	defer timer.Stop()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if !early {
			early = true
			timer.Reset(moment())
		}
		kind, token, _ := strings.Cut(lines.Text(), " ")
		a.mu.Lock()
		if kind == "failed" {
			a.failed = token
		} else if len(token) == 16 { // a line may be cut by the kill
			a.tokens[kind][token] = true
		}
		a.mu.Unlock()
	}
	_ = cmd.Wait() // it was killed
}

// TestKilledAtRandom kills processes that share a store, a few at a time.
func TestKilledAtRandom(t *testing.T) {
	dir := t.TempDir() + "/store"
	a := &acknowledged{tokens: map[string]map[string]bool{"record": {}, "object": {}}}
	limit := 6 * time.Second
	if testing.Short() {
		limit = time.Second
	}
	kills := 0
	for end := time.Now().Add(limit); time.Now().Before(end) || kills < 20; {
		var wg sync.WaitGroup
		for range 1 + mathrand.IntN(3) {
			wg.Go(func() { a.runAndKill(t, dir) })
			kills++
		}
		wg.Wait()
		if a.failed != "" {
			t.Fatalf("after %d kills: %s", kills, a.failed)
		}
	}
	a.check(t, dir)
	t.Logf("%d kills, %d records and %d objects acknowledged", kills, len(a.tokens["record"]), len(a.tokens["object"]))
	if len(a.tokens["record"]) < kills/2 {
		t.Fatalf("%d records from %d processes: the test proves little", len(a.tokens["record"]), kills)
	}
}

func (a *acknowledged) check(t *testing.T, dir string) {
	s, err := store.OpenSmall(dir, killSegments)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	seen := map[string]bool{}
	for r, err := range s.Records(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		token := string(r.Data[:16])
		if seen[token] || !bytes.Equal(r.Data, killRecord(token)) || !slices.Equal(r.Keys, []joulebox.ID{joulebox.Sum(r.Data)}) {
			t.Fatalf("record %q is torn or came twice", token)
		}
		seen[token] = true
		if _, err := s.Get(t.Context(), r.Keys[0]); err != nil {
			t.Fatalf("the object of record %s: %v", token, err)
		}
	}
	for token := range a.tokens["record"] {
		if !seen[token] {
			t.Fatalf("record %s was acknowledged and is gone", token)
		}
	}
	for token := range a.tokens["object"] {
		if _, err := s.Get(t.Context(), joulebox.Sum(killRecord(token))); err != nil {
			t.Fatal(err)
		}
	}
	left, err := os.ReadDir(dir + "/objects/tmp")
	if err != nil || len(left) > 0 {
		t.Fatalf("got %d unfinished files after opening, %v, want none", len(left), err)
	}
}
