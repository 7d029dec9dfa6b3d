package rootfs

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// digest is a "sha256:" and 64 hexadecimal digits.
type digest string

const digestPrefix = "sha256:"

func parseDigest(s string) (digest, error) {
	hexed, ok := strings.CutPrefix(s, digestPrefix)
	if b, err := hex.DecodeString(hexed); !ok || err != nil || len(b) != sha256.Size || hexed != strings.ToLower(hexed) {
		return "", fmt.Errorf("got %q, want sha256: and 64 lower case hexadecimal digits", s)
	}
	return digest(s), nil
}

func (d digest) hex() string { return strings.TrimPrefix(string(d), digestPrefix) }

func digestOf(b []byte) digest {
	sum := sha256.Sum256(b)
	return digest(digestPrefix + hex.EncodeToString(sum[:]))
}

// hashed counts and hashes what is read through it.
type hashed struct {
	from io.Reader
	sum  hash.Hash
	n    int64
}

func newHashed(r io.Reader) *hashed { return &hashed{from: r, sum: sha256.New()} }

func (h *hashed) Read(p []byte) (int, error) {
	n, err := h.from.Read(p)
	h.sum.Write(p[:n])
	h.n += int64(n)
	return n, err
}

func (h *hashed) digest() digest { return digest(digestPrefix + hex.EncodeToString(h.sum.Sum(nil))) }

// blob reads bytes of which size and digest are known. The end isn't told before
// both are right, and nothing after the size is read as a part of it. A size of -1
// isn't known, nor is an empty digest.
type blob struct {
	*hashed
	want digest
	size int64
}

func newBlob(r io.Reader, want digest, size int64) *blob {
	if size >= 0 {
		r = io.LimitReader(r, size+1) // one more shows that there is more
	}
	return &blob{newHashed(r), want, size}
}

func (b *blob) Read(p []byte) (int, error) {
	n, err := b.hashed.Read(p)
	switch {
	case b.size >= 0 && b.n > b.size:
		return 0, fmt.Errorf("%s: size: got more than %d bytes", b.want, b.size)
	case err != io.EOF:
		return n, err
	case b.size >= 0 && b.n < b.size:
		return n, fmt.Errorf("%s: size: got %d bytes, want %d: %w", b.want, b.n, b.size, io.ErrUnexpectedEOF)
	case b.want != "" && b.digest() != b.want:
		return n, fmt.Errorf("digest: got %s, want %s", b.digest(), b.want)
	}
	return n, io.EOF
}

// The first bytes of what layers are packed with.
var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
	// A skippable frame may come first (0x184D2A50 to 5F).
	zstdSkip = []byte{0x2a, 0x4d, 0x18}
	xzMagic  = []byte{0xfd, '7', 'z', 'X', 'Z', 0}
)

// maxWindow is how far back a zstd stream may reach: its strongest level takes as
// much, without --ultra and --long.
const maxWindow = 128 << 20

// unpack gives the bytes that a layer was packed from. What it is packed with is
// seen in its bytes: names of media types are often wrong, and what comes out has a
// digest of its own.
func unpack(r io.Reader) (io.ReadCloser, error) {
	packed := bufio.NewReaderSize(r, 64<<10)
	head, err := packed.Peek(len(xzMagic))
	if err != nil && err != io.EOF {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(head, gzipMagic):
		z, err := gzip.NewReader(packed)
		if err != nil {
			return nil, fmt.Errorf("gzip: %w", err)
		}
		return z, nil
	case bytes.HasPrefix(head, zstdMagic), len(head) > 3 && head[0]&0xf0 == 0x50 && bytes.Equal(head[1:4], zstdSkip):
		z, err := zstd.NewReader(packed, zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, fmt.Errorf("zstd: %w", err)
		}
		return z.IOReadCloser(), nil
	case bytes.HasPrefix(head, xzMagic), bytes.HasPrefix(head, []byte("BZh")):
		return nil, errors.New("is packed with xz or bzip2, want gzip, zstd or nothing")
	}
	return io.NopCloser(packed), nil
}

// bounded holds what comes out against the limits while it comes.
type bounded struct {
	from   io.Reader
	packed *blob // what goes in; nil has no ratio
	budget *budget
	n      int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	b.n += int64(n)
	if err := b.budget.unpacked(n); err != nil {
		return 0, err
	}
	if b.packed != nil && b.n > ratioFrom && b.n/max(b.packed.n, 1) > b.budget.Ratio {
		return 0, &LimitError{"ratio", b.n / max(b.packed.n, 1), b.budget.Ratio}
	}
	return n, err
}
