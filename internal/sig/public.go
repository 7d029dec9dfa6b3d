package sig

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
)

// CheckPublic refuses a public key of the wrong length, one that isn't the
// canonical encoding of its point (RFC 8032 §5.1.3 step 1), and one whose point
// is of small order.
func CheckPublic(pub ed25519.PublicKey) error {
	if len(pub) != ed25519.PublicKeySize {
		return fmt.Errorf("ed25519: public key: got %d bytes, want %d", len(pub), ed25519.PublicKeySize)
	}
	y := [ed25519.PublicKeySize]byte(pub)
	y[31] &= 0x7f // the top bit is the sign of x, which doesn't matter here
	if !reduced(&y) {
		return errors.New("ed25519: public key: not a canonical encoding (y is not below 2^255-19)")
	}
	for i := range smallOrderY {
		if bytes.Equal(y[:], smallOrderY[i][:]) {
			return errors.New("ed25519: public key: its point is of small order, so signatures under it prove nothing; make a new key")
		}
	}
	return nil
}

// reduced reports whether little-endian y is below p = 2^255-19.
func reduced(y *[32]byte) bool {
	if y[31] != 0x7f || y[0] < 0xed {
		return true
	}
	for _, b := range y[1:31] {
		if b != 0xff {
			return true
		}
	}
	return false
}

// smallOrderY are the y coordinates of the eight points whose order divides
// eight: 1 and -1 (orders 1 and 2), 0 (order 4), and the two of order 8.
var smallOrderY = [...][32]byte{
	{0: 1},
	{0: 0xec, 1: 0xff, 2: 0xff, 3: 0xff, 4: 0xff, 5: 0xff, 6: 0xff, 7: 0xff, 8: 0xff, 9: 0xff, 10: 0xff, 11: 0xff, 12: 0xff, 13: 0xff, 14: 0xff, 15: 0xff,
		16: 0xff, 17: 0xff, 18: 0xff, 19: 0xff, 20: 0xff, 21: 0xff, 22: 0xff, 23: 0xff, 24: 0xff, 25: 0xff, 26: 0xff, 27: 0xff, 28: 0xff, 29: 0xff, 30: 0xff, 31: 0x7f},
	{},
	{0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98, 0xf0,
		0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05},
	{0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67, 0x0f,
		0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a},
}
