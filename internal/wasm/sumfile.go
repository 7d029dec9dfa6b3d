package wasm

import (
	"io"
	"os"
	"runtime"
	"sync"

	"github.com/zeebo/blake3"
)

// sumBlock is the unit in which a file is hashed side by side.
const sumBlock = 1 << 20

// sumFile is a keyed hash of a file: of the keyed hashes of its blocks, in order.
// A warm start waits for it, so all processors take part.
func sumFile(path string, secret []byte) (sum [32]byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return sum, err
	}
	n := int((info.Size() + sumBlock - 1) / sumBlock)
	blocks := make([][32]byte, n)
	workers := max(1, min(runtime.GOMAXPROCS(0), n/2))
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() { errs[w] = sumBlocks(f, secret, blocks, w, workers) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return sum, err
		}
	}
	h, err := blake3.NewKeyed(secret)
	if err != nil {
		return sum, err
	}
	for i := range blocks {
		_, _ = h.Write(blocks[i][:])
	}
	h.Sum(sum[:0])
	return sum, nil
}

// sumBlocks hashes every step-th block from the first on.
func sumBlocks(f *os.File, secret []byte, blocks [][32]byte, first, step int) error {
	h, err := blake3.NewKeyed(secret)
	if err != nil {
		return err
	}
	buf := make([]byte, sumBlock)
	for i := first; i < len(blocks); i += step {
		n, err := f.ReadAt(buf, int64(i)*sumBlock)
		if err != nil && err != io.EOF {
			return err
		}
		h.Reset()
		_, _ = h.Write(buf[:n])
		h.Sum(blocks[i][:0])
	}
	return nil
}
