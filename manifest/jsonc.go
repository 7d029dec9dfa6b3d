package manifest

import "bytes"

// broken is a fault of syntax: nothing behind it can be judged.
type broken struct {
	offset int
	fault
}

// blank makes JSON of JSONC with every byte in its place: comments and the comma
// before a closing bracket become spaces.
func blank(src []byte) ([]byte, *broken) {
	out := bytes.Clone(src)
	before, comma := byte(0), -1 // the last byte that isn't space, and a comma right behind a value
	for i := 0; i < len(src); i++ {
		switch c := src[i]; c {
		case ' ', '\t', '\r', '\n':
			continue
		case '/':
			end, bad := comment(src, i)
			if bad != nil {
				return nil, bad
			}
			if end > i {
				wipe(out[i:end])
				i = end - 1
				continue
			}
		case '"':
			i = closing(src, i)
		case ',':
			comma = -1
			if before != 0 && before != '{' && before != '[' && before != ',' && before != ':' {
				comma = i
			}
			before = c
			continue
		case '}', ']':
			if comma >= 0 {
				out[comma] = ' '
			}
		}
		before, comma = src[min(i, len(src)-1)], -1
	}
	return out, nil
}

// comment is the end of the comment at i, or i where none begins.
func comment(src []byte, i int) (end int, bad *broken) {
	switch rest := src[i+1:]; {
	case bytes.HasPrefix(rest, []byte("/")):
		end = len(src)
		if n := bytes.IndexByte(src[i:], '\n'); n >= 0 {
			end = i + n
		}
		// To some readers the line ends there, and what follows is no comment.
		line := bytes.TrimSuffix(src[i:end], []byte{'\r'})
		if n := bytes.IndexByte(line, '\r'); n >= 0 {
			return 0, &broken{i + n, fault{"a carriage return stands alone within a comment, which some readers take for the end of it", "end lines with \\n or \\r\\n"}}
		}
		return end, nil
	case bytes.HasPrefix(rest, []byte("*")):
		n := bytes.Index(src[i+2:], []byte("*/"))
		if n < 0 {
			return 0, &broken{i, fault{"the comment is never closed", "close it with */"}}
		}
		return i + 2 + n + 2, nil
	}
	return i, nil
}

func wipe(b []byte) {
	for i, c := range b {
		if c != '\n' && c != '\r' {
			b[i] = ' '
		}
	}
}

// closing is the index of the quote that ends the string at i.
func closing(src []byte, i int) int {
	for i++; i < len(src) && src[i] != '"'; i++ {
		if src[i] == '\\' {
			i++
		}
	}
	return i
}
