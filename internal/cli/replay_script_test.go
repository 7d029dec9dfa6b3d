package cli_test

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/journal"
)

// cmdJournal is "journal FROM TO N|none": a copy of a bundle with one bit of the
// journal's N-th entry flipped, or without its journal. With "holds BUNDLE TEXT" it
// checks that the journal holds the text; negated, that it doesn't.
func cmdJournal(ts *testscript.TestScript, neg bool, args []string) {
	if args[0] == "holds" {
		j := readBundle(ts, args[1]).Journal()
		if len(j) == 0 || bytes.Contains(j, []byte(args[2])) == neg {
			ts.Fatalf("a journal of %d bytes: %q is in it: %v", len(j), args[2], neg)
		}
		return
	}
	b := readBundle(ts, args[0])
	var container []byte
	if n, err := strconv.Atoi(args[2]); err == nil {
		for e, err := range journal.Entries(b.Journal()) {
			ts.Check(err)
			e = bytes.Clone(e)
			if n--; n == 0 {
				e[len(e)-1] ^= 1
			}
			container = journal.AppendEntry(container, e)
		}
	}
	write(ts, args[1], append(b.WithJournal(container).Marshal(), '\n'))
}

func readBundle(ts *testscript.TestScript, file string) *bundle.Bundle {
	b, err := bundle.Parse([]byte(strings.TrimSpace(ts.ReadFile(file))))
	ts.Check(err)
	return b
}

// cmdMode is "mode FILE PERMISSIONS".
func cmdMode(ts *testscript.TestScript, _ bool, args []string) {
	if got := modeOf(ts, args[0]); got != args[1] {
		ts.Fatalf("%s: got mode %s, want %s", args[0], got, args[1])
	}
}

func modeOf(ts *testscript.TestScript, file string) string {
	info, err := os.Stat(ts.MkAbs(file))
	ts.Check(err)
	return strconv.FormatUint(uint64(info.Mode().Perm()), 8)
}
