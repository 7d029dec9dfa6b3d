package execwatch

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io"
	"strings"
)

// header is what the first bytes of a file say about how the kernel runs it.
type header struct {
	// interpreter is what a script's first line names.
	interpreter string
	// loader is what an ELF program asks for.
	loader string
	// library is a shared object that names itself and asks for no loader. Run by
	// itself it is a loader: ld.so or, with musl, libc.
	library bool
}

func (h header) script() bool { return h.interpreter != "" }

// lineLength is how much of a file the kernel looks at for a first line
// (BINPRM_BUF_SIZE).
const lineLength = 256

const (
	maxSegments = 1 << 10
	maxPath     = 4096
	maxDynamic  = 64 << 10
)

// parseHeader never fails: what isn't understood is a program that asks for
// nothing, and it is the kernel's to refuse.
func parseHeader(r io.ReaderAt) header {
	var first [lineLength]byte
	n, _ := io.ReadFull(io.NewSectionReader(r, 0, lineLength), first[:])
	if n >= 2 && first[0] == '#' && first[1] == '!' {
		return header{interpreter: firstLine(first[2:n])}
	}
	if n >= len(elf.ELFMAG) && string(first[:len(elf.ELFMAG)]) == elf.ELFMAG {
		return parseELF(r, first[:n])
	}
	return header{}
}

// firstLine is the path in "#! /bin/sh -e", as the kernel takes it.
func firstLine(line []byte) string {
	end := bytes.IndexByte(line, '\n')
	if end < 0 {
		if end = bytes.IndexByte(line, 0); end < 0 {
			end = len(line) // the kernel wants a path that ends in the buffer, and says so itself
		}
	}
	path := bytes.TrimLeft(line[:end], " \t")
	if i := bytes.IndexAny(path, " \t\x00"); i >= 0 {
		path = path[:i]
	}
	return string(path)
}

// layout is what differs between the two sizes of ELF.
type layout struct {
	order                     binary.ByteOrder
	kind                      elf.Type
	wide                      bool
	segments                  uint64
	segmentSize, segmentCount int
}

func parseLayout(b []byte) (l layout, ok bool) {
	if len(b) < 64 {
		return l, false
	}
	switch elf.Data(b[elf.EI_DATA]) {
	case elf.ELFDATA2LSB:
		l.order = binary.LittleEndian
	case elf.ELFDATA2MSB:
		l.order = binary.BigEndian
	default:
		return l, false
	}
	l.kind = elf.Type(l.order.Uint16(b[16:]))
	switch elf.Class(b[elf.EI_CLASS]) {
	case elf.ELFCLASS64:
		l.wide, l.segments = true, l.order.Uint64(b[32:])
		l.segmentSize, l.segmentCount = int(l.order.Uint16(b[54:])), int(l.order.Uint16(b[56:]))
		return l, l.segmentSize == 56
	case elf.ELFCLASS32:
		l.segments = uint64(l.order.Uint32(b[28:]))
		l.segmentSize, l.segmentCount = int(l.order.Uint16(b[42:])), int(l.order.Uint16(b[44:]))
		return l, l.segmentSize == 32
	}
	return l, false
}

type segment struct {
	kind         elf.ProgType
	offset, size uint64
}

func (l layout) segment(b []byte) segment {
	s := segment{kind: elf.ProgType(l.order.Uint32(b))}
	if l.wide {
		s.offset, s.size = l.order.Uint64(b[8:]), l.order.Uint64(b[32:])
		return s
	}
	s.offset, s.size = uint64(l.order.Uint32(b[4:])), uint64(l.order.Uint32(b[16:]))
	return s
}

func parseELF(r io.ReaderAt, first []byte) (h header) {
	l, ok := parseLayout(first)
	if !ok || l.segmentCount > maxSegments {
		return h
	}
	named := false
	for i := range l.segmentCount {
		b := part(r, l.segments+uint64(i*l.segmentSize), l.segmentSize)
		if b == nil {
			return h
		}
		switch s := l.segment(b); {
		case s.kind == elf.PT_INTERP && h.loader == "" && s.size >= 2 && s.size <= maxPath:
			path, _, _ := strings.Cut(string(part(r, s.offset, int(s.size))), "\x00")
			h.loader = path
		case s.kind == elf.PT_DYNAMIC && s.size <= maxDynamic:
			named = named || l.hasName(part(r, s.offset, int(s.size)))
		}
	}
	h.library = named && h.loader == "" && l.kind == elf.ET_DYN
	return h
}

// hasName looks for DT_SONAME, which shared objects have and programs don't.
func (l layout) hasName(dynamic []byte) bool {
	step, tag := 8, func(b []byte) uint64 { return uint64(l.order.Uint32(b)) }
	if l.wide {
		step, tag = 16, l.order.Uint64
	}
	for ; len(dynamic) >= step; dynamic = dynamic[step:] {
		switch elf.DynTag(tag(dynamic)) {
		case elf.DT_SONAME:
			return true
		case elf.DT_NULL:
			return false
		}
	}
	return false
}

// part reads n bytes, or gives nil.
func part(r io.ReaderAt, offset uint64, n int) []byte {
	if offset > 1<<62 {
		return nil
	}
	b := make([]byte, n)
	if _, err := r.ReadAt(b, int64(offset)); err != nil && err != io.EOF {
		return nil
	} else if err == io.EOF {
		return nil
	}
	return b
}
