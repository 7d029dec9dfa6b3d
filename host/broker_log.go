package host

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/joulebox/joulebox/grant"
	"github.com/joulebox/joulebox/internal/hostcall"
)

// Caps of one run's log. They count lines and bytes and not time, so that the
// same run logs the same. Beyond the first ones the last few lines are kept, which
// say how it ended.
const (
	maxLogLines = 10_000
	maxLogBytes = 4 << 20
	maxTail     = 200
	maxTailLine = 1 << 10 // bytes; what is longer is cut
	// logBytes is the most that comes of a log, with the line about what is missing.
	logBytes = maxLogBytes + maxTail*maxTailLine + 100
)

// logSink takes a unit's log lines (§5.4).
type logSink struct {
	out     *output
	lines   int
	bytes   int
	tail    [][]byte // the last lines over the caps, from next on
	next    int
	dropped atomic.Uint64 // lines that are in neither
}

func newLogSink(w io.Writer) *logSink { return &logSink{out: newOutput(w)} }

// logLine writes one line. One over the caps is kept in case it's among the last;
// the unit isn't told, since how full the host's log is isn't its business.
func (b *Broker) logLine(ctx context.Context, level hostcall.Level, message []byte) error {
	if d := b.enforcer.MayHost(grant.Logging); !d.Allowed {
		b.deny(d)
		return hostcall.Denied
	}
	line := append(appendSafe([]byte(level.String()+" "), message), '\n')
	l := b.log
	if l.tail != nil || l.lines >= maxLogLines || l.bytes+len(line) > maxLogBytes {
		l.keep(line)
		return nil
	}
	l.lines++
	l.bytes += len(line)
	if _, err := l.out.Write(ctx, [][]byte{line}); err != nil {
		l.dropped.Add(1)
	}
	return nil
}

// keep puts a line into the tail, in the place of the oldest once it is full.
func (l *logSink) keep(line []byte) {
	if len(line) > maxTailLine {
		line = append(line[:maxTailLine-len(cutMark):maxTailLine-len(cutMark)], cutMark...)
	}
	if len(l.tail) < maxTail {
		l.tail = append(l.tail, line)
		return
	}
	l.tail[l.next] = line
	l.next = (l.next + 1) % maxTail
	l.dropped.Add(1)
}

const cutMark = "…\n"

// tailWait bounds the wait for who reads the log, when the unit has ended.
const tailWait = time.Second

// end writes how much is missing, and what came last. No line of a unit can be taken
// for the first of these: theirs begin with a level.
func (l *logSink) end() {
	if l.tail == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), tailWait)
	defer cancel()
	var lines [][]byte
	if n := l.dropped.Load(); n > 0 {
		lines = append(lines, fmt.Appendf(nil, "[%d lines dropped]\n", n))
	}
	lines = append(append(lines, l.tail[l.next:]...), l.tail[:l.next]...)
	if _, err := l.out.Write(ctx, [][]byte{bytes.Join(lines, nil)}); err != nil {
		l.dropped.Add(uint64(len(l.tail)))
	}
	l.tail, l.next = nil, 0
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
