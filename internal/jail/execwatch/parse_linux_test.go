package execwatch

import (
	"bytes"
	"os"
	"testing"
)

func FuzzMount(f *testing.F) {
	if b, err := os.ReadFile("/proc/self/mountinfo"); err == nil {
		for line := range bytes.Lines(b) {
			f.Add(line)
		}
	}
	f.Add([]byte(`36 35 98:0 / /a\040b rw master:1 - ext3 /dev/root rw`))
	f.Fuzz(func(t *testing.T, line []byte) {
		_, at, kind, err := parseMount(line)
		if err == nil && (at == "" || kind == "") {
			t.Errorf("%q: got %q, %q", line, at, kind)
		}
	})
}

func TestMountPath(t *testing.T) {
	_, at, kind, err := parseMount([]byte(`36 35 98:0 / /a\040b\134 rw,noatime master:1 - ext3 /dev/root rw`))
	if at != `/a b\` || kind != "ext3" || err != nil {
		t.Errorf("got %q, %q, %v", at, kind, err)
	}
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte{24, 0, 0, 0, 3, 0, 24, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		for at := 0; at+metadataLength <= len(b); at++ {
			b[min(at-at%metadataLength+19, len(b)-1)] |= 0x80 // no descriptor of ours is to be closed
		}
		list, err := parseEvents(b)
		if err == nil && len(list)*metadataLength > len(b) {
			t.Errorf("%d events in %d bytes", len(list), len(b))
		}
	})
}

func TestDescriptorPath(t *testing.T) {
	for name, want := range map[string]string{
		"/dev/fd/7": "7", "/proc/self/fd/12": "12", "/dev/fd/../x": "", "/dev/fd/": "", "/dev/fd/-1": "", "/dev/fd/1/x": "", "/bin/sh": "",
	} {
		if got, ok := descriptorPath(name); ok != (want != "") || ok && got != want {
			t.Errorf("%s: got %q, %v", name, got, ok)
		}
	}
}

// The kernel takes what the filter is made of, and the jumps stay inside.
func TestFilterIsWellFormed(t *testing.T) {
	for _, m := range []Mechanism{Fanotify, Ptrace, ""} {
		for _, sealed := range []bool{false, true} {
			for _, have := range []bool{false, true} {
				p := filter(Rules(m, sealed, have, have))
				for i, s := range p {
					if to := i + 1 + max(int(s.Jt), int(s.Jf)); s.Code&7 == 5 && to >= len(p) {
						t.Errorf("%s: statement %d jumps to %d of %d", m, i, to, len(p))
					}
				}
				if len(p) > 4096 {
					t.Errorf("%d statements", len(p))
				}
			}
		}
	}
}
