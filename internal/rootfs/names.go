package rootfs

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	maxPath = 4095 // PATH_MAX without its NUL
	maxName = 255
	// maxLinks is how many links one resolution follows, as in the kernel.
	maxLinks = 40
)

// cleanName is a name of an archive as a path below the root: "a/b", empty for the
// root itself. A leading "/" is the image's root, as every reader has it; ".." is
// refused, since no builder writes it and readers differ.
func cleanName(name string, depth int) (string, error) {
	if err := checkText(name); err != nil {
		return "", err
	}
	kept := make([]string, 0, 8)
	for seg := range strings.SplitSeq(name, "/") {
		switch {
		case seg == "" || seg == ".":
			continue
		case seg == "..":
			return "", fmt.Errorf(`got %q, want a name without ".."`, name)
		case len(seg) > maxName:
			return "", fmt.Errorf("got a name of %d bytes in %.40q…, want at most %d", len(seg), name, maxName)
		}
		kept = append(kept, seg)
	}
	if len(kept) > depth {
		return "", &LimitError{"depth", int64(len(kept)), int64(depth)}
	}
	return strings.Join(kept, "/"), nil
}

// checkText is for names and for the targets of links: what an image object can
// hold.
func checkText(s string) error {
	switch {
	case s == "":
		return fmt.Errorf("is empty")
	case len(s) > maxPath:
		return fmt.Errorf("got %d bytes, want at most %d", len(s), maxPath)
	case !utf8.ValidString(s):
		return fmt.Errorf("got %q, want UTF-8", s)
	case strings.IndexByte(s, 0) >= 0:
		return fmt.Errorf("got %q, want no NUL bytes", s)
	}
	return nil
}

// split parts a clean path from its last name.
func split(path string) (dir, name string) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", path
	}
	return path[:i], path[i+1:]
}
