package wat

import (
	"math"
	"strconv"
	"strings"
)

// digits takes the underscores out of a number, which stand between two digits.
func digits(text string) (string, bool) {
	if !strings.Contains(text, "_") {
		return text, true
	}
	for i := range len(text) {
		if text[i] == '_' && (i == 0 || i == len(text)-1 || hexDigit(text[i-1]) < 0 || hexDigit(text[i+1]) < 0) {
			return "", false
		}
	}
	return strings.ReplaceAll(text, "_", ""), true
}

// parseUint reads an unsigned number, decimal or with 0x.
func parseUint(text string, bits int) (uint64, bool) {
	text, ok := digits(text)
	base := 10
	if rest, hex := strings.CutPrefix(text, "0x"); hex {
		text, base = rest, 16
	}
	if !ok || text == "" || hexDigit(text[0]) < 0 {
		return 0, false
	}
	v, err := strconv.ParseUint(text, base, bits)
	return v, err == nil
}

// parseInt reads an integer of so many bits, signed or unsigned, as its bits.
func parseInt(text string, bits int) (uint64, bool) {
	rest, negative := strings.CutPrefix(text, "-")
	if !negative {
		rest = strings.TrimPrefix(rest, "+")
	}
	v, ok := parseUint(rest, bits)
	if !ok || negative && v > 1<<(bits-1) {
		return 0, false
	}
	if negative {
		v = -v
	}
	if bits < 64 {
		v &= 1<<bits - 1
	}
	return v, true
}

// parseFloat reads a float of 32 or 64 bits, as its bits.
func parseFloat(text string, bits int) (uint64, bool) {
	rest, negative := strings.CutPrefix(text, "-")
	if !negative {
		rest = strings.TrimPrefix(rest, "+")
	}
	v, ok := parseMagnitude(rest, bits)
	if negative {
		v |= 1 << (bits - 1)
	}
	return v, ok
}

func parseMagnitude(text string, bits int) (uint64, bool) {
	mantissa := 52
	if bits == 32 {
		mantissa = 23
	}
	infinity := uint64(1)<<(bits-1) - 1<<mantissa
	switch {
	case text == "inf":
		return infinity, true
	case text == "nan":
		return infinity | 1<<(mantissa-1), true
	case strings.HasPrefix(text, "nan:"):
		payload, ok := parseUint(text[len("nan:"):], bits)
		return infinity | payload, ok && strings.HasPrefix(text, "nan:0x") && payload > 0 && payload < 1<<mantissa
	}
	return parseFinite(text, bits)
}

func parseFinite(text string, bits int) (uint64, bool) {
	text, ok := digits(text)
	if !ok || text == "" || text[0] < '0' || text[0] > '9' {
		return 0, false // also inf and nan as Go spells them
	}
	if strings.HasPrefix(text, "0x") {
		if !strings.ContainsAny(text, "pP") {
			text += "p0"
		}
		if len(text) > 2 && hexDigit(text[2]) < 0 {
			return 0, false
		}
	} else if strings.ContainsAny(text, "xXpP") {
		return 0, false
	}
	v, err := strconv.ParseFloat(text, bits)
	if err != nil { // out of range, or no number
		return 0, false
	}
	if bits == 32 {
		return uint64(math.Float32bits(float32(v))), true
	}
	return math.Float64bits(v), true
}
