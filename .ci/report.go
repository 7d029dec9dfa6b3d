// Report reads the events of `go test -json` and prints what go test would have:
// one line a package, the output of what failed, then what was skipped and why,
// and the totals. It fails when a test failed, when nothing ran, and when a test
// was skipped although this machine has the feature it asks for: a skip is
// allowed only when it names a feature below that is detected to be missing.
package main

import (
	"bufio"
	"bytes"
	"encoding/json/v2"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// feature is something a test may do without: reasons lists what the skip says.
type feature struct {
	name    string
	reason  *regexp.Regexp
	missing func() bool
}

var features = []feature{
	{"test vectors beside the checkout", regexp.MustCompile(`JOULEBOX_VECTORS|vectors`), func() bool {
		dir := os.Getenv("JOULEBOX_VECTORS")
		if dir == "" {
			dir = "../shared/vectors"
		}
		return !exists(dir)
	}},
	{"a readable energy counter", regexp.MustCompile(`powercap|rapl|energy counter`), func() bool { return !exists("/sys/class/powercap/intel-rapl:0/energy_uj") }},
	{"an ordinary user's rights (not root)", regexp.MustCompile(`(?i)as root|is root|running as root`), func() bool { return os.Geteuid() == 0 }},
	{"root", regexp.MustCompile(`(?i)needs root|not root`), func() bool { return os.Geteuid() != 0 }},
	{"landlock", regexp.MustCompile(`(?i)landlock`), func() bool { return !exists("/sys/kernel/security/landlock") && !landlockListed() }},
	{"node and npm", regexp.MustCompile(`node|npm`), func() bool { return !onPath("node") || !onPath("npm") }},
	{"an interpreter that joulebox lang keeps", regexp.MustCompile(`JOULEBOX_LANG_DIR`), func() bool { return !languageKept("python") || !languageKept("javascript") }},
	{"a C compiler for WASI", regexp.MustCompile(`no C compiler for WASI`), func() bool { return !onPath("clang") || !exists("/usr/lib/wasm32-wasi/libc.a") }},
	{"control groups that partitions can be made in", regexp.MustCompile(`no partition can be built`), func() bool { return os.Geteuid() != 0 }},
	{"another assembler of WebAssembly text", regexp.MustCompile(`\(wabt\) isn't installed`), func() bool { return !onPath("wat2wasm") || !onPath("wasm2wat") }},
	{"a C compiler for this machine", regexp.MustCompile(`no C compiler to build`), func() bool { return !onPath("gcc") }},
	{"a Rust compiler for WASI", regexp.MustCompile(`no Rust compiler for WASI`), func() bool { return !rustForWASI() }},
	{"a KVM whose guests work", regexp.MustCompile(`no machine can be made \(KVM\)`), func() bool { return !exists("/dev/kvm") || kvmEmulates() }},
	{"a folder of modules to go through", regexp.MustCompile(`JOULEBOX_WASM_CORPUS`), func() bool { return os.Getenv("JOULEBOX_WASM_CORPUS") == "" }},
	{"a store that outlives its process, which one in memory is not", regexp.MustCompile(`this store doesn't outlive a Close`), func() bool { return true }},
	{"a long run (-short was asked for)", regexp.MustCompile(`-short`), func() bool { return slices.Contains(os.Args[1:], "-short") }},
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }
func onPath(name string) bool { _, err := exec.LookPath(name); return err == nil }

// languageKept looks where the tests look.
func languageKept(name string) bool {
	dir := os.Getenv("JOULEBOX_LANG_DIR")
	if dir == "" {
		data := os.Getenv("XDG_DATA_HOME")
		if data == "" {
			data = os.Getenv("HOME") + "/.local/share"
		}
		dir = data + "/joulebox/lang"
	}
	return exists(dir + "/names/" + name + ".json")
}

// kvmEmulates: in a machine that is itself a guest of such a kernel the device may
// be there and its guests may not work, which only trying them out tells.
func kvmEmulates() bool {
	cpu, _ := os.ReadFile("/proc/cpuinfo")
	return bytes.Contains(cpu, []byte(" hypervisor "))
}

func rustForWASI() bool {
	for _, rustc := range []string{"rustc", "/usr/bin/rustc"} {
		for _, target := range []string{"wasm32-wasip1", "wasm32-wasi"} {
			dir, err := exec.Command(rustc, "--print", "target-libdir", "--target", target).Output()
			if err == nil && exists(string(bytes.TrimSpace(dir))) {
				return true
			}
		}
	}
	return false
}

func landlockListed() bool {
	b, err := os.ReadFile("/sys/kernel/security/lsm")
	return err == nil && bytes.Contains(b, []byte("landlock"))
}

// event is one line of test2json's output.
type event struct {
	Action, Package, Test, Output, ImportPath string
	Elapsed                                   float64
}

type key struct{ pkg, test string }

type report struct {
	output                 map[key]*strings.Builder
	skipped                map[key]bool
	passed, failed, builds int
}

func main() {
	r := report{output: map[key]*strings.Builder{}, skipped: map[key]bool{}}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			fmt.Println(lines.Text()) // what make or the build said
			continue
		}
		r.take(e)
	}
	unexpected := r.explainSkips()
	fmt.Printf("%d passed, %d failed, %d skipped\n", r.passed, r.failed+r.builds, len(r.skipped))
	if lines.Err() != nil || r.failed+r.builds > 0 || r.passed == 0 || unexpected {
		os.Exit(1)
	}
}

func (r *report) take(e event) {
	k := key{e.Package, e.Test}
	switch e.Action {
	case "output":
		if r.output[k] == nil {
			r.output[k] = new(strings.Builder)
		}
		r.output[k].WriteString(e.Output)
		return
	case "build-output":
		fmt.Print(e.Output)
	case "build-fail":
		r.builds++
	case "pass":
		r.passed += testOrNone(e)
	case "fail":
		r.failed += testOrNone(e)
		fmt.Print(r.text(k))
	case "skip":
		if e.Test != "" {
			r.skipped[k] = true
		}
	}
	r.packageLine(e)
	if e.Action == "pass" || (e.Action == "fail" && e.Test != "") {
		delete(r.output, k)
	}
}

// packageLine prints "ok pkg 0.1s" and its like, and counts a package that broke
// outside of any test (a panic, a time-out, a failed TestMain).
func (r *report) packageLine(e event) {
	if e.Test != "" {
		return
	}
	switch e.Action {
	case "pass":
		fmt.Printf("ok  \t%s\t%.3fs\n", e.Package, e.Elapsed)
	case "fail": // its own output ends in the line
		if r.failed == 0 {
			r.builds++
		}
	}
}

func testOrNone(e event) int {
	if e.Test == "" {
		return 0
	}
	return 1
}

func (r *report) text(k key) string {
	if b := r.output[k]; b != nil {
		return b.String()
	}
	return ""
}

// explainSkips prints every skip with its reason, and reports whether one of
// them names nothing that is missing here.
func (r *report) explainSkips() (unexpected bool) {
	keys := slices.SortedFunc(maps.Keys(r.skipped), func(a, b key) int {
		return strings.Compare(a.pkg+" "+a.test, b.pkg+" "+b.test)
	})
	for _, k := range keys {
		reason := skipReason(r.text(k))
		name := allowed(reason)
		if name == "" {
			unexpected = true
			name = "UNEXPECTED: nothing that this machine lacks"
		}
		fmt.Printf("skip\t%s\t%s: %s [%s]\n", k.pkg, k.test, reason, name)
	}
	return unexpected
}

func allowed(reason string) string {
	for _, f := range features {
		if f.reason.MatchString(reason) && f.missing() {
			return f.name
		}
	}
	return ""
}

// skipReason is the line that t.Skip printed: "    file_test.go:12: why".
func skipReason(output string) string {
	for line := range strings.Lines(output) {
		if _, why, ok := strings.Cut(line, ".go:"); ok {
			if _, why, ok = strings.Cut(why, ": "); ok {
				return strings.TrimSpace(why)
			}
		}
	}
	return "no reason given"
}
