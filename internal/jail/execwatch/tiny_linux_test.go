package execwatch

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/joulebox/joulebox"
)

// tiny is a program that writes a mark to the inherited pipe and exits. Salt makes
// the same program another one by content.
func tiny(mark byte, code byte, salt string) []byte {
	const base, header = 0x400000, 64 + 56
	text := tinyCode(mark, code)
	var b bytes.Buffer
	write := func(values ...any) {
		for _, v := range values {
			_ = binary.Write(&b, binary.LittleEndian, v)
		}
	}
	machine := map[string]uint16{"amd64": 62, "arm64": 183}[runtime.GOARCH]
	b.WriteString("\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	write(uint16(2), machine, uint32(1), uint64(base+header), uint64(64), uint64(0), uint32(0),
		uint16(64), uint16(56), uint16(1), uint16(0), uint16(0), uint16(0))
	size := uint64(header + len(text) + len(salt))
	write(uint32(1), uint32(5), uint64(0), uint64(base), uint64(base), size, size, uint64(0x10000))
	b.Write(text)
	b.WriteString(salt)
	return b.Bytes()
}

func tinyCode(mark, code byte) []byte {
	if runtime.GOARCH == "arm64" {
		var b []byte
		for _, i := range []uint32{
			0x52800000 | uint32(mark)<<5 | 9, // mov w9, #mark
			0xd10043ff,                       // sub sp, sp, #16
			0x390003e9,                       // strb w9, [sp]
			0x52800000 | markerFD<<5,         // mov w0, #fd
			0x910003e1,                       // mov x1, sp
			0x52800022,                       // mov w2, #1
			0x52800808,                       // mov w8, #64 (write)
			0xd4000001,                       // svc #0
			0x52800000 | uint32(code)<<5,     // mov w0, #code
			0x52800bc8,                       // mov w8, #94 (exit_group)
			0xd4000001,                       // svc #0
		} {
			b = binary.LittleEndian.AppendUint32(b, i)
		}
		return b
	}
	return []byte{
		0x6a, mark, // push mark
		0x48, 0x89, 0xe6, // mov rsi, rsp
		0xbf, markerFD, 0, 0, 0, // mov edi, fd
		0xba, 1, 0, 0, 0, // mov edx, 1
		0xb8, 1, 0, 0, 0, // mov eax, write
		0x0f, 0x05, // syscall
		0xbf, code, 0, 0, 0, // mov edi, code
		0xb8, 231, 0, 0, 0, // mov eax, exit_group
		0x0f, 0x05, // syscall
	}
}

// program writes a program that anyone may run, and gives its path and hash.
func program(t testing.TB, dir, name string, content []byte) (string, joulebox.ID) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := firstOf(os.WriteFile(path, content, 0o755), os.Chmod(path, 0o755)); err != nil {
		t.Fatal(err)
	}
	return path, joulebox.Sum(content)
}

// folder is a directory that anyone may write to.
func folder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(scratch, "dir-*")
	if err = firstOf(err, os.Chmod(dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	return dir
}
