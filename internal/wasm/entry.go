package wasm

import (
	"crypto/subtle"
	"encoding/binary"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/zeebo/blake3"

	"github.com/joulebox/joulebox/internal/wasm/rewrite"
)

// errStale says that an entry isn't there, isn't whole or isn't ours. It is made
// anew, never run.
var errStale = errors.New("wasm cache: no usable entry")

// entry is one compiled module on disk: a directory of its own with
//
//	seal          see below
//	info          rewrite.Info as JSON
//	module        the rewritten module's skeleton (the whole module without a compiler)
//	wazero-…/HEX  its machine code, where wazero looks for it
//
// The seal is a keyed BLAKE3 over the entry's key and all other files, with a
// secret that only this user can read. Whatever has changed in any of them is
// noticed before any of it is used.
type entry struct {
	dir    string
	info   *rewrite.Info
	module []byte
	code   string // path of the machine code, empty for the interpreter
	file   fs.FileInfo

	parts []fs.FileInfo // the files of info and module, before they were read
}

const (
	sealFile   = "seal"
	infoFile   = "info"
	moduleFile = "module"
)

func (e *entry) hasCode() bool { return e.code != "" }

func (e *entry) size() int64 {
	n := int64(len(e.module))
	if e.hasCode() {
		n += e.file.Size()
	}
	return n
}

// unchanged reports whether the machine code's file is the one that was sealed:
// wazero opens it by its name once more.
func (e *entry) unchanged() bool {
	return !e.hasCode() || sameAs(e.file, e.code)
}

// sameAs reports whether a file is still the one that it was.
func sameAs(was fs.FileInfo, path string) bool {
	now, err := os.Stat(path)
	return err == nil && os.SameFile(now, was) && now.Size() == was.Size() && now.ModTime().Equal(was.ModTime())
}

// readEntry reads an entry and checks its seal.
func readEntry(dir string, key entryKey, secret []byte) (*entry, error) {
	seal, err := os.ReadFile(filepath.Join(dir, sealFile))
	if err != nil {
		return nil, errStale
	}
	e, info, err := readParts(dir)
	if err != nil {
		return nil, errStale
	}
	sum, err := e.seal(key, info, secret)
	if err != nil || subtle.ConstantTimeCompare(sum, seal) != 1 {
		return nil, errStale
	}
	e.info = &rewrite.Info{}
	if err := json.Unmarshal(info, e.info); err != nil {
		return nil, errStale
	}
	return e, nil
}

// readParts reads what an entry directory holds, without believing any of it.
func readParts(dir string) (*entry, []byte, error) {
	e := &entry{dir: dir}
	for _, name := range []string{infoFile, moduleFile} {
		stat, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			return nil, nil, err
		}
		e.parts = append(e.parts, stat)
	}
	info, err := os.ReadFile(filepath.Join(dir, infoFile))
	if err != nil {
		return nil, nil, err
	}
	if e.module, err = os.ReadFile(filepath.Join(dir, moduleFile)); err != nil {
		return nil, nil, err
	}
	if e.code, err = findCode(dir); err == nil && e.hasCode() {
		e.file, err = os.Stat(e.code)
	}
	return e, info, err
}

// findCode finds the one file that wazero has written, if there is one.
func findCode(dir string) (string, error) {
	found, err := filepath.Glob(filepath.Join(dir, "wazero-*", "*"))
	if err != nil || len(found) == 0 {
		return "", err
	}
	if len(found) > 1 {
		return "", fmt.Errorf("wasm cache: %s holds %d files of machine code, want 1", dir, len(found))
	}
	return found[0], nil
}

// seal computes the entry's seal over what was read and the machine code's file.
func (e *entry) seal(key entryKey, info, secret []byte) ([]byte, error) {
	var code [32]byte
	if e.hasCode() {
		var err error
		if code, err = sumFile(e.code, secret); err != nil {
			return nil, err
		}
	}
	h, err := blake3.NewKeyed(secret)
	if err != nil {
		return nil, err
	}
	for _, part := range [][]byte{key[:], info, e.module, []byte(filepath.Base(e.code)), code[:]} {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(part)))
		_, _ = h.Write(n[:]) // a hash doesn't fail
		_, _ = h.Write(part)
	}
	return h.Sum(nil), nil
}
