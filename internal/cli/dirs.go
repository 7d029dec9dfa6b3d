package cli

import (
	"errors"
	"os"
	"path/filepath"
)

// dataDir holds the languages: $XDG_DATA_HOME/joulebox/lang, else
// ~/.local/share/joulebox/lang.
func dataDir() (string, error) {
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "joulebox", "lang"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return "", errors.New("no place for languages: set HOME or XDG_DATA_HOME")
	}
	return filepath.Join(home, ".local", "share", "joulebox", "lang"), nil
}

// cacheDir holds what can be made again: $XDG_CACHE_HOME/joulebox, else
// ~/.cache/joulebox. What must not be lost is in custody.StateDir.
func cacheDir() (string, error) {
	// The base directory specification has relative values ignored.
	if dir := os.Getenv("XDG_CACHE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "joulebox"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return "", errors.New("no place for the compile cache: set HOME or XDG_CACHE_HOME")
	}
	return filepath.Join(home, ".cache", "joulebox"), nil
}
