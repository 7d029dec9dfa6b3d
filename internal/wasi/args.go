package wasi

import "encoding/binary"

func argsGet(k *call, a []uint64) Errno {
	return k.putStrings(k.c.sys.Args(), uint32(a[0]), uint32(a[1]))
}

func argsSizesGet(k *call, a []uint64) Errno {
	return k.putSizes(k.c.sys.Args(), uint32(a[0]), uint32(a[1]))
}

func environGet(k *call, a []uint64) Errno {
	return k.putStrings(k.c.sys.Environ(), uint32(a[0]), uint32(a[1]))
}

func environSizesGet(k *call, a []uint64) Errno {
	return k.putSizes(k.c.sys.Environ(), uint32(a[0]), uint32(a[1]))
}

// textSize is what the strings take with a NUL after each.
func textSize(list []string) (n uint32) {
	for _, s := range list {
		n += uint32(len(s)) + 1
	}
	return n
}

func (k *call) putSizes(list []string, countPtr, sizePtr uint32) Errno {
	if !k.fits(countPtr, 4) || !k.fits(sizePtr, 4) {
		return EFault
	}
	k.putU32(countPtr, uint32(len(list)))
	return k.putU32(sizePtr, textSize(list))
}

// putStrings writes the strings at text and where each begins at ptrs.
func (k *call) putStrings(list []string, ptrs, text uint32) Errno {
	size := textSize(list)
	table, ok := k.array(ptrs, uint32(len(list)), 4)
	b, ok2 := k.slice(text, size)
	if !ok || !ok2 {
		return EFault
	}
	k.chargeBytes(uint64(size) + uint64(len(table)))
	k.wrote(ptrs, uint32(len(table)))
	k.wrote(text, size)
	at := text
	for i, s := range list {
		binary.LittleEndian.PutUint32(table[4*i:], at)
		n := copy(b, s)
		b[n] = 0
		b, at = b[n+1:], at+uint32(n)+1
	}
	return Success
}
