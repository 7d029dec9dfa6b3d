// Command bench compares joulebox with what a user would have without it, in one
// run: each of our figures stands beside its peer's, taken in turn, with the
// ratio of the two. It needs bin/joulebox (make build does that) and Go, to build
// the peer.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/joulebox/joulebox/host"
)

// bench is one comparison.
type bench struct {
	name string
	run  func(n int) error
}

var benches = []bench{
	{"attested", attested},
	{"engines", engines},
	{"hostproc", hostproc},
	{"journal", journal},
	{"mcp", agent},
	{"metering", metering},
	{"oneshot", oneshot},
}

func main() {
	host.RunChildIfAsked()
	n := flag.Int("n", 15, "pairs for each comparison")
	only := flag.String("only", "", "the comparisons to make, separated by commas: attested, engines, hostproc, journal, mcp, metering, oneshot")
	flag.Parse()
	fmt.Printf("%s/%s, %d CPUs, %s, %d pairs each, medians; ratio is the median of the pairs' ratios\n",
		runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), *n)
	for _, b := range benches {
		if *only != "" && !strings.Contains(","+*only+",", ","+b.name+",") {
			continue
		}
		if err := b.run(*n); err != nil {
			fmt.Fprintf(os.Stderr, "bench %s: %v\n", b.name, err)
			os.Exit(1)
		}
	}
}
