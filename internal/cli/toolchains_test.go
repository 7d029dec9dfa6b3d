package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// toolchains build the examples of README for WASI, in the example's folder. Each
// is nil where its compiler isn't here.
var toolchains = map[string]func(out string) *exec.Cmd{
	"go":   buildGo,
	"rust": buildRust,
	"c":    buildC,
}

func buildGo(out string) *exec.Cmd {
	if _, err := exec.LookPath("go"); err != nil {
		return nil
	}
	cmd := exec.Command("go", "build", "-o", out, "primes.go")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=")
	return cmd
}

// buildRust looks for a compiler that has the standard library for WASI.
func buildRust(out string) *exec.Cmd {
	for _, rustc := range []string{"rustc", "/usr/bin/rustc"} {
		for _, target := range []string{"wasm32-wasip1", "wasm32-wasi"} { // the name changed
			dir, err := exec.Command(rustc, "--print", "target-libdir", "--target", target).Output()
			if err != nil {
				continue
			}
			if libs, _ := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "libstd-*.rlib")); len(libs) > 0 {
				return exec.Command(rustc, "--target", target, "-O", "-C", "strip=symbols", "-o", out, "primes.rs")
			}
		}
	}
	return nil
}

func buildC(out string) *exec.Cmd {
	sysroot := os.Getenv("WASI_SYSROOT")
	if sysroot == "" {
		sysroot = "/usr"
	}
	_, err := exec.LookPath("clang")
	if libs, _ := filepath.Glob(filepath.Join(sysroot, "lib", "wasm32-wasi", "libc.a")); err != nil || len(libs) == 0 {
		return nil
	}
	return exec.Command("clang", "--target=wasm32-wasi", "--sysroot="+sysroot, "-O2", "-Wl,--strip-all", "-o", out, "primes.c")
}

// cmdBuild is "build LANGUAGE FILE": builds the example of a language.
func cmdBuild(ts *testscript.TestScript, _ bool, args []string) {
	cmd := toolchains[args[0]](ts.MkAbs(args[1]))
	cmd.Dir = filepath.Join(ts.Getenv("EX"), "lang-"+args[0])
	if out, err := cmd.CombinedOutput(); err != nil {
		ts.Fatalf("%v: %v\n%s", cmd, err, out)
	}
}
