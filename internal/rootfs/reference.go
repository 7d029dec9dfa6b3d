package rootfs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The transports of a reference, as skopeo and podman name them.
const (
	transportDir     = "dir"
	transportOCI     = "oci"
	transportArchive = "oci-archive"
	transportDocker  = "docker-archive"
	transportPull    = "docker"
)

// reference is where an image is.
type reference struct {
	transport string
	path      string // of what is on this machine
	name      string // the tag, or a name in a registry
}

// parseReference reads
//
//	dir:PATH
//	oci:PATH[:TAG]            oci:PATH@sha256:…
//	oci-archive:FILE[:TAG]    oci-archive:FILE@sha256:…
//	docker-archive:FILE[:NAME[:TAG]]
//	docker://NAME@sha256:…    docker://NAME:TAG
//
// and a path, for which what lies there decides.
func parseReference(s string) (reference, error) {
	transport, rest, ok := strings.Cut(s, ":")
	switch {
	case s == "":
		return reference{}, fmt.Errorf("image: is empty, want a directory, an archive or a reference")
	case ok && transport == transportPull && strings.HasPrefix(rest, "//"):
		return reference{transport: transportPull, name: rest[2:]}, nil
	case ok && transport == transportDir:
		return onDisk(transport, rest, "")
	case ok && transport == transportDocker:
		path, name, _ := strings.Cut(rest, ":")
		return onDisk(transport, path, name)
	case ok && (transport == transportOCI || transport == transportArchive):
		if path, digest, ok := strings.Cut(rest, "@"+digestPrefix); ok {
			return onDisk(transport, path, "@"+digestPrefix+digest)
		}
		path, tag, _ := strings.Cut(rest, ":")
		return onDisk(transport, path, tag)
	}
	return guess(s)
}

func onDisk(transport, path, name string) (reference, error) {
	if path == "" {
		return reference{}, fmt.Errorf("image: %s: names no path", transport)
	}
	return reference{transport, path, name}, nil
}

// guess looks at what lies at a path.
func guess(path string) (reference, error) {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.Mode().IsRegular():
		return reference{transport: transportDocker + "?", path: path}, nil
	case err == nil && !info.IsDir():
		return reference{}, fmt.Errorf("image: %s: is neither a directory nor a file", path)
	case err == nil:
		if _, err := os.Lstat(filepath.Join(path, layoutFile)); err == nil {
			return reference{transport: transportOCI, path: path}, nil
		}
		return reference{transport: transportDir, path: path}, nil
	case strings.Contains(path, "@"+digestPrefix):
		return reference{}, fmt.Errorf("image: %s: no such file; for a registry's image write docker://%s: %w", path, path, fs.ErrNotExist)
	}
	return reference{}, fmt.Errorf("image: %w; want a path, or dir:, oci:, oci-archive:, docker-archive: or docker://", err)
}
