package custody

import (
	"bufio"
	"context"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

const childEnv = "JOULEBOX_CUSTODY_TEST_CHILD"

func TestMain(m *testing.M) {
	if reference := os.Getenv(childEnv); reference != "" {
		fmt.Println("failed", child(reference))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// child makes the key if there is none and says each number that it's given. It
// opens the key anew now and then, as one-shot commands do.
func child(reference string) error {
	for {
		k, _, err := Ensure(reference, false)
		if err != nil {
			return err
		}
		for range 1 + mathrand.IntN(40) {
			n, err := k.Next(context.Background())
			if err != nil {
				return err
			}
			fmt.Printf("%s %d .\n", k.HostID(), n)
		}
		if err := k.Close(); err != nil {
			return err
		}
	}
}

// numbers collects what children said.
type numbers struct {
	mu    sync.Mutex
	seen  map[string]bool
	hosts map[string]bool
	wrong string
}

func (a *numbers) runAndKill(t *testing.T, reference string) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+reference)
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
	moment := func() time.Duration { return time.Duration(mathrand.IntN(30)) * time.Millisecond }
	timer := time.AfterFunc(map[bool]time.Duration{true: moment(), false: time.Minute}[early], func() { cmd.Process.Kill() })
	defer timer.Stop()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if !early {
			early = true
			timer.Reset(moment())
		}
		a.note(lines.Text())
	}
	_ = cmd.Wait() // it was killed
}

func (a *numbers) note(line string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	number, whole := strings.CutSuffix(line, " .")
	host, _, _ := strings.Cut(number, " ")
	switch {
	case host == "failed":
		a.wrong = line
	case !whole: // cut by the kill
	case a.seen[number]:
		a.wrong = number + " was given out twice"
	default:
		a.seen[number], a.hosts[host] = true, true
	}
}

// TestKilledAtRandom kills processes that share a key, from its making on.
func TestKilledAtRandom(t *testing.T) {
	limit := 4 * time.Second
	if testing.Short() {
		limit = time.Second
	}
	kills, keys, given := 0, 0, 0
	for end := time.Now().Add(limit); time.Now().Before(end) || keys < 3; keys++ {
		reference := "file:" + t.TempDir() + "/host"
		a := &numbers{seen: map[string]bool{}, hosts: map[string]bool{}}
		for range 8 {
			var wg sync.WaitGroup
			for range 1 + mathrand.IntN(3) {
				wg.Go(func() { a.runAndKill(t, reference) })
				kills++
			}
			wg.Wait()
			if a.wrong != "" || len(a.hosts) > 1 {
				t.Fatalf("after %d kills: %s, hosts %v", kills, a.wrong, a.hosts)
			}
		}
		given += len(a.seen)
	}
	t.Logf("%d kills, %d keys, %d numbers", kills, keys, given)
	if given < kills/2 {
		t.Fatalf("%d numbers from %d processes: the test proves little", given, kills)
	}
}
