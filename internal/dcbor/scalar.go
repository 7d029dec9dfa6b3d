package dcbor

import (
	"bytes"
	"encoding/binary"
	"math"
)

const (
	tagPositive = 2 // bignum n
	tagNegative = 3 // bignum -1-n
)

// tag keeps the tag of an item whose type it allows; a bignum becomes its
// preferred form.
func (c *canonizer) tag(h head, depth int) error {
	start := c.at
	c.at += h.size
	from := len(c.out)
	c.out = appendHead(c.out, tagType, h.arg)
	content := len(c.out)
	if err := c.item(depth + 1); err != nil {
		return err
	}
	if want := tagContent(h.arg, c.out[content:]); want != "" {
		return fail(start, "tag %d holds a %s, want %s", h.arg, majorNames[c.out[content]>>5], want)
	}
	if h.arg == tagPositive || h.arg == tagNegative {
		c.out = appendBignum(c.out[:from], h.arg, c.out[content:])
	}
	return nil
}

// tagContent is what the tags of RFC 8949 §3.4 want in place of this content, or
// nothing. The meaning of the content (is it a date, is it a URI?) is not looked
// at, and unknown tags take everything.
func tagContent(tag uint64, content []byte) string {
	h, _ := readHead(content, 0)
	switch tag {
	case 0, 32, 33, 34, 36:
		if h.major != textType {
			return "a text string"
		}
	case 1:
		if float := h.major == simpleType && h.info >= 25; h.major > negType && !float {
			return "an integer or a float"
		}
	case tagPositive, tagNegative, 24:
		if h.major != bytesType {
			return "a byte string"
		}
	case 4, 5:
		if h.major != arrayType || h.arg != 2 || !isFraction(content[h.size:]) {
			return "an array of an integer exponent and an integer mantissa"
		}
	}
	return ""
}

// isFraction reports whether items begin with an integer exponent and a mantissa
// that is an integer or a bignum.
func isFraction(items []byte) bool {
	exponent, _ := readHead(items, 0)
	mantissa, _ := readHead(items, exponent.size)
	bignum := mantissa.major == tagType && (mantissa.arg == tagPositive || mantissa.arg == tagNegative)
	return exponent.major <= negType && (mantissa.major <= negType || bignum)
}

// appendBignum appends the number whose magnitude is the byte string content:
// a plain integer where it fits 64 bits, else the tag without leading zeros.
func appendBignum(dst []byte, tag uint64, content []byte) []byte {
	h, _ := readHead(content, 0)
	magnitude := bytes.Clone(bytes.TrimLeft(content[h.size:], "\x00")) // dst overlaps content
	if len(magnitude) <= 8 {
		var word [8]byte
		copy(word[8-len(magnitude):], magnitude)
		return appendHead(dst, byte(tag-tagPositive), binary.BigEndian.Uint64(word[:]))
	}
	dst = appendHead(dst, tagType, tag)
	return append(appendHead(dst, bytesType, uint64(len(magnitude))), magnitude...)
}

// simple copies a simple value or a float.
func (c *canonizer) simple(h head) error {
	start := c.at
	c.at += h.size
	switch h.info {
	case indefinite:
		return fail(start, "a break outside of an item of indefinite length")
	case 24:
		if h.arg < 32 {
			return fail(start, "simple value %d in two bytes is not well formed", h.arg)
		}
		c.out = append(c.out, simpleType<<5|24, byte(h.arg))
	case 25:
		c.out = appendFloat(c.out, fromHalf(uint16(h.arg)))
	case 26:
		c.out = appendFloat(c.out, float64(math.Float32frombits(uint32(h.arg))))
	case 27:
		c.out = appendFloat(c.out, math.Float64frombits(h.arg))
	default:
		c.out = append(c.out, simpleType<<5|byte(h.arg))
	}
	return nil
}

// appendFloat appends the shortest encoding that keeps the value.
func appendFloat(dst []byte, x float64) []byte {
	if math.IsNaN(x) {
		return append(dst, 0xf9, 0x7e, 0x00)
	}
	single := float32(x)
	if float64(single) != x {
		return binary.BigEndian.AppendUint64(append(dst, 0xfb), math.Float64bits(x))
	}
	if half, ok := toHalf(single); ok {
		return binary.BigEndian.AppendUint16(append(dst, 0xf9), half)
	}
	return binary.BigEndian.AppendUint32(append(dst, 0xfa), math.Float32bits(single))
}

// fromHalf reads an IEEE 754 binary16.
func fromHalf(h uint16) float64 {
	exponent, fraction := int(h>>10&0x1f), float64(h&0x3ff)
	x := math.Ldexp(1+fraction/1024, exponent-15)
	switch exponent {
	case 0:
		x = math.Ldexp(fraction, -24)
	case 31:
		if x = math.Inf(1); fraction != 0 {
			return math.NaN()
		}
	}
	if h>>15 == 1 {
		return math.Copysign(x, -1)
	}
	return x
}

// toHalf is the binary16 with the value of x, if there is one; x is not a NaN.
func toHalf(x float32) (uint16, bool) {
	bits := math.Float32bits(x)
	sign := uint16(bits >> 16 & 0x8000)
	exponent, fraction := int(bits>>23&0xff)-127, bits&0x7fffff
	switch {
	case bits<<1 == 0:
		return sign, true
	case exponent == 128: // infinity
		return sign | 0x7c00, true
	case exponent > 15 || exponent < -24 || fraction&0x1fff != 0:
		return 0, false
	case exponent >= -14:
		return sign | uint16(exponent+15)<<10 | uint16(fraction>>13), true
	}
	// Subnormal: shift the significand, with its leading one, into place.
	significand, shift := fraction|0x800000, uint(-1-exponent)
	if significand&(1<<shift-1) != 0 {
		return 0, false
	}
	return sign | uint16(significand>>shift), true
}
