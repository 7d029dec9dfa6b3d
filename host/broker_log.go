package host

import (
	"context"
	"io"
	"strconv"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/internal/hostcall"
)

// Caps of one run's log. They count lines and bytes and not time, so that the
// same run logs the same.
const (
	maxLogLines = 10_000
	maxLogBytes = 4 << 20
)

// logSink takes a unit's log lines (§5.4).
type logSink struct {
	out     *output
	lines   int
	bytes   int
	dropped atomic.Uint64
}

func newLogSink(w io.Writer) *logSink { return &logSink{out: newOutput(w)} }

// logLine writes one line. A line over the caps is dropped and counted; the unit
// isn't told, since how full the host's log is isn't its business.
func (b *Broker) logLine(ctx context.Context, level hostcall.Level, message []byte) error {
	if d := b.enforcer.MayHost(grant.Logging); !d.Allowed {
		b.deny(d)
		return hostcall.Denied
	}
	line := append(appendSafe([]byte(level.String()+" "), message), '\n')
	l := b.log
	if l.lines >= maxLogLines || l.bytes+len(line) > maxLogBytes {
		l.dropped.Add(1)
		return nil
	}
	l.lines++
	l.bytes += len(line)
	if _, err := l.out.Write(ctx, [][]byte{line}); err != nil {
		l.dropped.Add(1)
	}
	return nil
}

// appendSafe writes text so that one message is one line and no terminal is
// moved by it: control and bidirectional characters, broken UTF-8 and the
// backslash itself are escaped.
func appendSafe(dst, text []byte) []byte {
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && n == 1:
			dst = append(dst, '\\', 'x', hexDigits[text[0]>>4], hexDigits[text[0]&15])
		case r == '\\':
			dst = append(dst, '\\', '\\')
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\u2028', r == '\u2029':
			quoted := strconv.AppendQuoteRuneToASCII(nil, r)
			dst = append(dst, quoted[1:len(quoted)-1]...)
		default:
			dst = append(dst, text[:n]...)
		}
		text = text[n:]
	}
	return dst
}

const hexDigits = "0123456789abcdef"
