package journal

import (
	"fmt"
	"iter"
)

// AppendEntry adds one entry to a container: its length as a shortest CBOR byte
// string head, then its bytes.
func AppendEntry(container, entry []byte) []byte {
	return append(appendHead(container, majorBytes<<5, uint64(len(entry))), entry...)
}

// Entries splits a container. The entries share its memory and aren't checked
// themselves; Chain.Append does that. A container that breaks off, or whose
// heads aren't shortest, ends the iteration with an error.
func Entries(container []byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for at := 0; at < len(container); {
			entry, size, err := first(container[at:])
			if err != nil {
				yield(nil, fmt.Errorf("journal: at byte %d: %w", at, err))
				return
			}
			if !yield(entry, nil) {
				return
			}
			at += size
		}
	}
}

// first is the entry that a container begins with, and how much it takes with its
// head.
func first(container []byte) (entry []byte, size int, err error) {
	n, head, err := readHead(container)
	if err == nil && n > uint64(len(container)-head) {
		err = fmt.Errorf("want %d bytes, got %d: the journal breaks off", n, len(container)-head)
	}
	if err != nil {
		return nil, 0, err
	}
	size = head + int(n)
	return container[head:size:size], size, nil
}

// readHead reads a byte string's head: the length it states and its own.
func readHead(b []byte) (n uint64, head int, err error) {
	if b[0]>>5 != majorBytes || b[0]&31 == 31 {
		return 0, 0, fmt.Errorf("got head 0x%02x, want a byte string", b[0])
	}
	if n, head, err = readArgument(b); err != nil {
		return 0, 0, fmt.Errorf("the journal %w", err)
	}
	return n, head, nil
}
