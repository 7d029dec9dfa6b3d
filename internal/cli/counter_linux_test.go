package cli_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// onACounter puts a package that draws 1 W where the kernel would, in a view of the
// file system that nobody else has, and runs the program on it; then the package is
// taken out while a unit runs.
const onACounter = `
mount -t tmpfs none /sys/class && mkdir -p /sys/class/powercap/intel-rapl:0 && cd /sys/class/powercap/intel-rapl:0 || exit 9
echo package-0 > name; echo 262143328850 > max_energy_range_uj
feed() {
	while now=${EPOCHREALTIME/./} && echo $((now % 262143328850)) > next 2>/dev/null && mv next energy_uj; do :; done
}
feed & feeder=$!
while ! test -e energy_uj; do sleep 0.1; done
"$1" doctor
"$1" run --energy 300mJ --timeout 10m spin.wat; echo "ended with $?"
(sleep 0.5; mv /sys/class/powercap/intel-rapl:0 /sys/class/gone) &
"$1" run --energy 2J --timeout 10m spin.wat; echo "ended with $?"
kill $feeder
wait
`

func TestOnACounter(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to put a counter where the kernel would")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "joulebox") // the name by which this binary is the program
	copyFile(t, "/proc/self/exe", program)
	unit := `(module (func (export "run") (result i32) (loop $again (br $again)) (i32.const 0)))`
	if err := os.WriteFile(filepath.Join(dir, "spin.wat"), []byte(unit), 0o600); err != nil {
		t.Fatal(err)
	}
	script := regexp.MustCompile(`spin\.wat`).ReplaceAllString(onACounter, dir+"/spin.wat")
	cmd := exec.Command("unshare", "-m", "--propagation", "private", "bash", "-c", script, "bash", program)
	cmd.Env = append(os.Environ(), "JOULEBOX_STATE="+filepath.Join(dir, "state"), "XDG_CACHE_HOME="+filepath.Join(dir, "cache"))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, out.Bytes())
	}
	for _, want := range []string{
		`meters +ok Cpu +HwShunt, from powercap \(package-0\), which drew [01]\.`,
		`S2 Terminated\(energy_budget_uj\), Cpu [0-9.]+ m?J measured \(HwShunt\)[^\n]*\nended with 124`,
		`S2 Terminated\(energy_budget_uj\), Cpu [0-9.]+ m?J estimated \(Estimator\)[^\n]*\nended with 124`,
	} {
		if !regexp.MustCompile(want).Match(out.Bytes()) {
			t.Errorf("want %q in\n%s", want, out.Bytes())
		}
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	src, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o700)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(dst, src); err != nil {
		t.Fatal(err)
	}
	if err := dst.Close(); err != nil {
		t.Fatal(err)
	}
}
