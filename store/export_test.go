package store

import "github.com/joulebox/joulebox/internal/disk"

// OpenSmall opens a store whose segments are small.
func OpenSmall(dir string, segmentBytes int64) (*Dir, error) {
	conf := defaultLog
	conf.segmentBytes = segmentBytes
	return open(disk.OS, dir, conf)
}
