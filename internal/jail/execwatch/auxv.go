package execwatch

import "encoding/binary"

// auxiliary finds an entry in what the kernel tells a 64-bit program.
func auxiliary(auxv []byte, tag uint64) (uint64, bool) {
	for ; len(auxv) >= 16; auxv = auxv[16:] {
		switch t := binary.NativeEndian.Uint64(auxv); t {
		case tag:
			return binary.NativeEndian.Uint64(auxv[8:]), true
		case 0:
			return 0, false
		}
	}
	return 0, false
}
