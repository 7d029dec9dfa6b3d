// Counts the primes below a number: joulebox run primes.wasm 100000
//
// GOOS=wasip1 GOARCH=wasm go build -o primes.wasm primes.go
package main

import (
	"fmt"
	"os"
	"strconv"
)

func main() {
	n := 100_000
	if len(os.Args) > 1 {
		var err error
		if n, err = strconv.Atoi(os.Args[1]); err != nil || n < 0 {
			fmt.Fprintln(os.Stderr, "want a number")
			os.Exit(1)
		}
	}
	composite := make([]bool, n)
	count := 0
	for i := 2; i < n; i++ {
		if composite[i] {
			continue
		}
		count++
		for j := i * i; j < n; j += i {
			composite[j] = true
		}
	}
	fmt.Println(count, "primes below", n)
}
