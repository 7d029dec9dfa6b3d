package manifest

import "unicode/utf16"

// compare orders by UTF-16 code units, as canonical JSON orders names: a character
// beyond the basic plane comes before U+E000 to U+FFFF, which bytes have after.
func compare(a, b string) int {
	ra, rb := []rune(a), []rune(b)
	for i := range min(len(ra), len(rb)) {
		if ra[i] != rb[i] {
			return unit(ra[i], rb[i])
		}
	}
	return len(ra) - len(rb)
}

// unit compares two different characters by the first code unit that differs.
func unit(a, b rune) int {
	ua, ub := utf16.AppendRune(nil, a), utf16.AppendRune(nil, b)
	if ua[0] != ub[0] {
		return int(ua[0]) - int(ub[0])
	}
	return int(ua[1]) - int(ub[1]) // both are pairs that begin alike
}
