package sevsnp

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/joulebox/joulebox/evidence"
)

// fields goes through the bytes of a report in their order, once, reading or
// writing: one list of fields, so that both ways are the same.
type fields struct {
	b     []byte
	at    int
	write bool
	err   error
}

// walk is the layout. No byte is left out: what isn't a field is reserved.
func (f *fields) walk(r *Report) {
	f.uint32(&r.Version)
	f.uint32(&r.GuestSVN)
	f.uint64((*uint64)(&r.Policy))
	f.bytes(r.FamilyID[:], r.ImageID[:])
	f.uint32(&r.VMPL)
	f.uint32(&r.SignatureAlgo)
	f.bytes(r.CurrentTCB[:])
	f.uint64((*uint64)(&r.PlatformInfo))
	f.flags(r)
	f.reserved(4)
	f.bytes(r.ReportData[:], r.Measurement[:], r.HostData[:], r.IDKeyDigest[:], r.AuthorKeyDigest[:], r.ReportID[:], r.ReportIDMA[:], r.ReportedTCB[:])
	if r.Version >= 3 {
		f.byte(&r.CPU.Family, &r.CPU.Model, &r.CPU.Stepping)
		f.reserved(21)
	} else {
		f.reserved(24)
	}
	f.bytes(r.ChipID[:], r.CommittedTCB[:])
	f.version(&r.Current)
	f.version(&r.Committed)
	f.bytes(r.LaunchTCB[:])
	if r.Version >= 5 {
		f.uint64(&r.LaunchMit)
		f.uint64(&r.CurrentMit)
	}
	f.reserved(signedSize - f.at)
	f.number(r.R[:])
	f.number(r.S[:])
	f.reserved(Size - f.at)
}

// take are the next n bytes.
func (f *fields) take(n int) []byte {
	f.at += n
	return f.b[f.at-n : f.at]
}

func (f *fields) bytes(all ...[]byte) {
	for _, b := range all {
		if field := f.take(len(b)); f.write {
			copy(field, b)
		} else {
			copy(b, field)
		}
	}
}

func (f *fields) byte(all ...*byte) {
	for _, p := range all {
		b := []byte{*p}
		f.bytes(b)
		*p = b[0]
	}
}

func (f *fields) uint32(p *uint32) {
	b := binary.LittleEndian.AppendUint32(nil, *p)
	f.bytes(b)
	*p = binary.LittleEndian.Uint32(b)
}

func (f *fields) uint64(p *uint64) {
	b := binary.LittleEndian.AppendUint64(nil, *p)
	f.bytes(b)
	*p = binary.LittleEndian.Uint64(b)
}

// version is build, minor, major and a reserved byte.
func (f *fields) version(v *Version) {
	f.byte(&v[2], &v[1], &v[0])
	f.reserved(1)
}

// flags are author_key_en, mask_chip_key and three bits of signing_key.
func (f *fields) flags(r *Report) {
	var word uint32
	if r.AuthorKeyEn {
		word |= 1
	}
	if r.MaskChipKey {
		word |= 2
	}
	word |= uint32(r.SigningKey) << 2
	f.uint32(&word)
	if key := word >> 2; key > uint32(VLEK) {
		f.refuse(evidence.Unsupported, "signing_key: got %d, want 0 (VCEK) or 1 (VLEK), and nothing reserved", key)
		return
	}
	r.AuthorKeyEn, r.MaskChipKey, r.SigningKey = word&1 != 0, word&2 != 0, Key(word>>2)
}

// number is a little-endian number of 72 bytes, of which P-384 uses 48. The rest
// isn't covered by the signature, so it must be zero.
func (f *fields) number(p []byte) {
	slices.Reverse(p)
	f.bytes(p)
	slices.Reverse(p)
	f.reserved(numberSize - scalarSize)
}

func (f *fields) reserved(n int) {
	at := f.at
	field := f.take(n)
	if f.write {
		clear(field)
	} else if i := bytes.IndexFunc(field, func(r rune) bool { return r != 0 }); i >= 0 {
		f.refuse(evidence.Malformed, "byte %d: got %#x in a reserved field, want zero", at+i, field[i])
	}
}

func (f *fields) refuse(r evidence.Reason, format string, args ...any) {
	if f.err == nil {
		f.err = evidence.Refuse(r, format, args...)
	}
}
