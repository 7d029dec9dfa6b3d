// Command joulebox runs programs under grants and hands back signed records of
// what they were, what they did and what they cost.
package main

import (
	"os"

	"github.com/joulebox/joulebox/internal/cli"
)

func main() { os.Exit(cli.Main()) }
