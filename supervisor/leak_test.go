package supervisor_test

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/joulebox/joulebox/host"
	"github.com/joulebox/joulebox/supervisor"
)

// footprint is what a process holds.
type footprint struct {
	goroutines, files, mappings int
	heap                        uint64 // bytes in use
}

func takeFootprint(t testing.TB) (f footprint) {
	t.Helper()
	for range 3 { // finalizers run between collections
		runtime.GC()
		time.Sleep(20 * time.Millisecond)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	f.heap, f.goroutines = m.HeapAlloc, runtime.NumGoroutine()
	if files, err := os.ReadDir("/proc/self/fd"); err == nil {
		f.files = len(files)
	}
	if maps, err := os.ReadFile("/proc/self/maps"); err == nil {
		f.mappings = strings.Count(string(maps), "\n")
	}
	return f
}

// runsForLeaks is how many runs must leave everything where it was.
const runsForLeaks = 10_000

func TestTenThousandRunsLeaveNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("short: ten thousand runs take ten seconds")
	}
	leavesNothing(t, runsForLeaks, inProcess)
}

// TestRunsInProcessesLeaveNothing is the same for units in processes of their own,
// which take longer to start.
func TestRunsInProcessesLeaveNothing(t *testing.T) { leavesNothing(t, 200) }

func leavesNothing(t *testing.T, runs int, change ...func(*supervisor.Config)) {
	dir := t.TempDir()
	h, _ := onDisk(t, dir, change...)
	stage := func(n int) {
		for i := range n {
			images := [][]byte{returns(0), returns(1), unreachable(), grows(), counts(100), spins()}
			r := request(images[i%len(images)], func(r *supervisor.Request) {
				r.Grants.Compute.EnergyBudgetUJ = 1000
				r.Grants.Storage.Read = []string{dir + "/**"}
			})
			h.run(t, r, host.BrokerConfig{})
		}
	}
	stage(max(50, runs/20))
	before := takeFootprint(t)
	stage(runs)
	after := takeFootprint(t)
	t.Logf("before %+v, after %+v", before, after)
	if after.goroutines > before.goroutines+2 || after.files > before.files || after.mappings > before.mappings+20 {
		t.Errorf("goroutines, files or mappings grew: before %+v, after %+v", before, after)
	}
	if after.heap > before.heap+4<<20 {
		t.Errorf("the heap grew from %d to %d bytes", before.heap, after.heap)
	}
}
