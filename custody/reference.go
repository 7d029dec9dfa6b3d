package custody

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// DefaultReference is the host's own key in the state folder.
const DefaultReference = "file:"

const defaultName = "host"

// laterSchemes are kinds of custody that are named but not built.
var laterSchemes = []string{"agent", "tpm", "pkcs11"}

const (
	lower   = "abcdefghijklmnopqrstuvwxyz"
	digits  = "0123456789"
	maxName = 64
)

// plainName reports whether s is a short name of these characters that begins
// with a letter or digit. A regular expression would cost every start of the
// program more than all that a name is good for.
func plainName(s, letters, marks string) bool {
	return s != "" && len(s) <= maxName && !strings.Contains(marks, s[:1]) && strings.Trim(s, letters+digits+marks) == ""
}

// StateDir is the folder of keys and trust: $JOULEBOX_STATE, else joulebox in
// $XDG_STATE_HOME, else ~/.local/state/joulebox. It need not exist yet.
func StateDir() (string, error) {
	if dir := os.Getenv("JOULEBOX_STATE"); dir != "" {
		if !filepath.IsAbs(dir) {
			return "", fmt.Errorf("custody: JOULEBOX_STATE: got %q, want an absolute path", dir)
		}
		return filepath.Clean(dir), nil
	}
	// The base directory specification has relative values ignored.
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "joulebox"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return "", fmt.Errorf("custody: no place for keys: got HOME %q, want an absolute path there, or in JOULEBOX_STATE", home)
	}
	return filepath.Join(home, ".local", "state", "joulebox"), nil
}

// pathOf is the key folder that a reference names.
func pathOf(reference string) (string, error) {
	scheme, rest, found := strings.Cut(reference, ":")
	switch {
	case !found:
		return "", fmt.Errorf("custody: reference: got %q, want file:, file:NAME or file:/PATH", reference)
	case slices.Contains(laterSchemes, scheme):
		return "", fmt.Errorf("custody: reference %q: this joulebox has no %s: keys yet, want a file: reference", reference, scheme)
	case scheme != "file":
		return "", fmt.Errorf("custody: reference %q: got scheme %q, want a file: reference", reference, scheme)
	case filepath.IsAbs(rest):
		return absolutePath(reference, rest)
	case rest == "":
		rest = defaultName
	case !plainName(rest, lower, "_-"):
		return "", fmt.Errorf("custody: reference %q: got name %q, want a-z, 0-9, - and _, or an absolute path", reference, rest)
	}
	state, err := StateDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(state, "keys", rest), nil
}

func absolutePath(reference, path string) (string, error) {
	if filepath.Clean(path) != path || path == "/" || strings.ContainsRune(path, 0) {
		return "", fmt.Errorf("custody: reference %q: got path %q, want it plain, as in %q", reference, path, filepath.Clean(path))
	}
	return path, nil
}
