package hostcall

import (
	"context"

	"github.com/joulebox/joulebox/internal/effect"
	"github.com/joulebox/joulebox/internal/toll"
)

// Services is what the calls do. Errors that wrap a Code reach the guest as that
// code, all others as IO.
type Services interface {
	Tolls() toll.Table
	Recorder() effect.Recorder // nil for none

	// KVGet gives a value that the caller doesn't change.
	KVGet(ctx context.Context, key []byte) ([]byte, error)
	// KVPut keeps copies of key and value.
	KVPut(ctx context.Context, key, value []byte) error

	// StorageRead reads at off as io.ReaderAt, but for the end: that is no error.
	StorageRead(ctx context.Context, path string, p []byte, off int64) (int, error)
	// StorageWrite writes all of p; where says to which place of the file.
	StorageWrite(ctx context.Context, path string, p []byte, where Where) (int, error)

	// Egress sends a request to host:port and fills response with the answer.
	Egress(ctx context.Context, endpoint string, request, response []byte) (int, error)

	// WallClock is nanoseconds since 1970, a constant when no clock is granted.
	WallClock() (int64, error)
	RandomU64(ctx context.Context) (uint64, error)
	Log(ctx context.Context, level Level, message []byte) error
}

// Where is the place in a file that a write goes to: an offset, or one of these.
type Where int64

// The places that aren't an offset.
const (
	Replace Where = -1 // empty the file first
	Append  Where = -2
)

// Level is how much a log line matters.
type Level uint32

// The levels.
const (
	Debug Level = iota
	Info
	Warn
	Error
)

var levelNames = [...]string{"debug", "info", "warn", "error"}

// Known reports whether the level is one of the four.
func (l Level) Known() bool { return int(l) < len(levelNames) }

// String is the level's lower-case name.
func (l Level) String() string {
	if l.Known() {
		return levelNames[l]
	}
	return "unknown"
}
