package meter_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/joulebox/joulebox/meter"
	"github.com/joulebox/joulebox/receipt"
)

// machine is a simulated host: a clock, busy time, and a node over some counter.
// Nothing moves but by the test's hand.
type machine struct {
	node *meter.Node
	at   meter.Instant
	busy time.Duration
	err  error // of the busy time
}

func newMachine(t *testing.T, c meter.Counter, floor uint64) *machine {
	t.Helper()
	m := &machine{}
	node, err := meter.NewNode(meter.NodeConfig{
		Counter: c, Floor: floor,
		Busy: func() (time.Duration, error) { return m.busy, m.err },
		Now:  func() meter.Instant { return m.at },
	})
	if err != nil {
		t.Fatal(err)
	}
	m.node = node
	return m
}

func (m *machine) pass(d time.Duration) { m.at.Awake, m.at.Real = m.at.Awake+d, m.at.Real+d }

// task is a simulated run.
type task struct {
	span meter.Span
	cpu  time.Duration
}

func (m *machine) begin(t *testing.T) *task {
	t.Helper()
	r := &task{}
	span, err := m.node.Measured(meter.CPUTime(cpu(), meter.DefaultTable())).Begin(t.Context(), func() meter.Counts { return meter.Counts{CPUTime: r.cpu} })
	if err != nil {
		t.Fatal(err)
	}
	r.span = span
	return r
}

func (r *task) read(t *testing.T) receipt.Energy {
	t.Helper()
	e, used, err := r.span.Read()
	if err != nil || !used {
		t.Fatalf("used %v, %v", used, err)
	}
	return e
}

// why is the reason for which a record has no measured figure.
func (r *task) why(t *testing.T) error {
	t.Helper()
	e := r.read(t)
	err := r.span.(meter.Live).Unmeasured()
	if _, measured := e.Measured(); measured != (err == nil) || measured != (e.Provenance() == receipt.HwShunt) {
		t.Errorf("measured %v, provenance %v, reason %v", measured, e.Provenance(), err)
	}
	return err
}

// zone is one folder of a tree as the kernel makes it.
type zone struct {
	name, span, energy string
	sub                []zone
}

const wide = 262143328850 // µJ, the range of a common server package

func socket(name string, energy uint64) zone {
	return zone{name, strconv.Itoa(wide), strconv.FormatUint(energy, 10), []zone{{name: "core", span: strconv.Itoa(wide), energy: "7"}}}
}

func (z zone) withMemory(energy uint64) zone {
	z.sub = append(z.sub, zone{name: "dram", span: "65712999613", energy: strconv.FormatUint(energy, 10)})
	return z
}

func write(t testing.TB, path, value string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(value+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// tree makes zones as the kernel does: devices below their control type, parents
// holding children, and the class's folder linking to all of them. Beside the
// zones lies psys, which holds everything.
func tree(t testing.TB, zones ...zone) string {
	t.Helper()
	return treeOf(t, "intel-rapl", append(zones, zone{name: "psys", span: strconv.Itoa(wide), energy: "77"}))
}

func treeOf(t testing.TB, control string, zones []zone) string {
	t.Helper()
	root := t.TempDir()
	addZones(t, root, control, zones)
	return filepath.Join(root, "class", "powercap")
}

func addZones(t testing.TB, root, control string, zones []zone) {
	t.Helper()
	class := filepath.Join(root, "class", "powercap")
	device := filepath.Join(root, "devices", "virtual", "powercap", control)
	for _, dir := range []string{class, device} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(device, filepath.Join(class, control)); err != nil {
		t.Fatal(err)
	}
	for i, z := range zones {
		addZone(t, class, device, control+":"+strconv.Itoa(i), z)
	}
}

func addZone(t testing.TB, class, parent, base string, z zone) {
	t.Helper()
	dir := filepath.Join(parent, base)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir, filepath.Join(class, base)); err != nil {
		t.Fatal(err)
	}
	for file, value := range map[string]string{"name": z.name, "max_energy_range_uj": z.span, "energy_uj": z.energy, "enabled": "1"} {
		if value != "" {
			write(t, filepath.Join(dir, file), value)
		}
	}
	for i, s := range z.sub {
		addZone(t, class, dir, base+":"+strconv.Itoa(i), s)
	}
}

func set(t testing.TB, root, zone string, uj uint64) {
	t.Helper()
	write(t, filepath.Join(root, zone, "energy_uj"), strconv.FormatUint(uj, 10))
}

// onTree is a machine whose counters are a tree's.
func onTree(t *testing.T, root string) *machine {
	t.Helper()
	c, err := meter.Powercap(root)
	if err != nil {
		t.Fatal(err)
	}
	return newMachine(t, c, 0)
}
