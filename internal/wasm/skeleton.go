package wasm

import (
	"encoding/binary"
	"fmt"

	"github.com/zeebo/blake3"
)

// skeleton is a module with its function bodies left out: each is a lone
// unreachable, which has every type. wazero takes the machine code of a module
// from its cache by a hash of the module's bytes, and wants the bodies for
// nothing else than to compile them; yet it decodes and validates all of them
// before it looks into the cache, which is most of a warm start. So the machine
// code of the whole module is filed under the skeleton, which is loaded in its
// place. What binds the two together is the seal of the entry, and a custom
// section with the whole module's hash that makes no two skeletons alike.
//
// The module is the rewriting's own output, so it isn't malformed.
func skeleton(module []byte) ([]byte, error) {
	const header = 8
	sum := blake3.Sum256(module)
	out := append([]byte{}, module[:header]...)
	out = appendSection(out, sectionCustom, append(appendName(nil, "joulebox.module"), sum[:]...))
	for rest := module[header:]; len(rest) > 0; {
		id := rest[0]
		size, n := binary.Uvarint(rest[1:])
		if n <= 0 || size > uint64(len(rest)-1-n) {
			return nil, fmt.Errorf("BUG(joulebox): the rewritten module has a broken section %d", id)
		}
		body := rest[1+n : 1+n+int(size)]
		rest = rest[1+n+int(size):]
		if id == sectionCode {
			body = emptyBodies(body)
		}
		out = appendSection(out, id, body)
	}
	return out, nil
}

const (
	sectionCustom = 0
	sectionCode   = 10
)

// emptyBodies is a code section of as many functions, without their code.
func emptyBodies(code []byte) []byte {
	count, n := binary.Uvarint(code)
	out := append([]byte{}, code[:n]...)
	for range count {
		out = append(out, 3, 0, 0x00, 0x0b) // 3 bytes: no locals, unreachable, end
	}
	return out
}

func appendSection(out []byte, id byte, body []byte) []byte {
	out = binary.AppendUvarint(append(out, id), uint64(len(body)))
	return append(out, body...)
}

func appendName(out []byte, name string) []byte {
	return append(binary.AppendUvarint(out, uint64(len(name))), name...)
}
