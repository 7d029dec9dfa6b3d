package execwatch

import (
	"bytes"
	"debug/elf"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFirstLine(t *testing.T) {
	for text, want := range map[string]string{
		"#!/bin/sh\n":                    "/bin/sh",
		"#! \t /bin/sh -e x\nrest":       "/bin/sh",
		"#!/bin/sh":                      "/bin/sh",
		"#!/bin/sh\t-e":                  "/bin/sh",
		"#!/bin/sh\x00junk":              "/bin/sh",
		"#!rel/ative\n":                  "rel/ative",
		"#!\n/bin/sh\n":                  "",
		"#!":                             "",
		"# !/bin/sh":                     "",
		"":                               "",
		"#!/" + strings.Repeat("a", 300): "/" + strings.Repeat("a", lineLength-3),
	} {
		if got := parseHeader(strings.NewReader(text)).interpreter; got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// Two ways, one answer: the standard library reads the programs of this machine.
func TestELF(t *testing.T) {
	files, _ := filepath.Glob("/usr/bin/*")
	libraries, _ := filepath.Glob("/lib*/ld-*.so*")
	more, _ := filepath.Glob("/lib/*-linux-gnu/lib[a-d]*.so*")
	seen, loaders := 0, 0
	for _, path := range append(append(files, libraries...), more...) {
		b, err := os.ReadFile(path)
		if err != nil || len(b) > 20<<20 {
			continue
		}
		f, err := elf.NewFile(bytes.NewReader(b))
		if err != nil {
			continue
		}
		want := header{}
		for _, p := range f.Progs {
			if p.Type == elf.PT_INTERP {
				s := make([]byte, p.Filesz)
				_, _ = p.ReadAt(s, 0)
				want.loader = strings.TrimRight(string(s), "\x00")
			}
		}
		name, _ := f.DynString(elf.DT_SONAME)
		want.library = len(name) > 0 && want.loader == "" && f.Type == elf.ET_DYN
		if got := parseHeader(bytes.NewReader(b)); got != want {
			t.Errorf("%s: got %+v, want %+v", path, got, want)
		}
		if seen++; want.library {
			loaders++
		}
	}
	if seen < 20 || loaders < 1 {
		t.Errorf("%d programs and %d libraries: the test proves little", seen, loaders)
	}
}

func FuzzHeader(f *testing.F) {
	f.Add([]byte("#!/bin/sh\n"))
	if b, err := os.ReadFile("/bin/true"); err == nil {
		f.Add(b[:min(len(b), 4096)])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h := parseHeader(bytes.NewReader(b))
		if h.interpreter != "" && (h.loader != "" || h.library) || h.loader != "" && h.library {
			t.Errorf("%+v is more than one thing", h)
		}
		if strings.ContainsAny(h.interpreter, " \t\n\x00") || strings.Contains(h.loader, "\x00") {
			t.Errorf("%+v isn't a path", h)
		}
	})
}
