// Command wasmtime calls programs on wasmtime, which counts their fuel, for the
// comparison in bench. It is a module of its own: it needs cgo, and nothing of
// joulebox should depend on it.
//
// It answers lines on standard input: "load FILE" with "ok", "run N" with the
// nanoseconds that run(N) took and what it returned. Anything else is an error.
package main

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/bytecodealliance/wasmtime-go/v37"
)

func main() {
	config := wasmtime.NewConfig()
	config.SetConsumeFuel(true)
	engine := wasmtime.NewEngineWithConfig(config)
	var p program
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		answer, err := "", error(nil)
		switch word {
		case "load":
			answer, err = "ok", p.load(engine, rest)
		case "run":
			answer, err = p.run(rest)
		default:
			err = fmt.Errorf("no command %q", word)
		}
		if err != nil {
			answer = "error " + strings.ReplaceAll(err.Error(), "\n", " ")
		}
		fmt.Println(answer)
	}
}

type program struct {
	store *wasmtime.Store
	entry *wasmtime.Func
}

func (p *program) load(engine *wasmtime.Engine, file string) error {
	module, err := wasmtime.NewModuleFromFile(engine, file)
	if err != nil {
		return err
	}
	p.store = wasmtime.NewStore(engine)
	if err := p.store.SetFuel(math.MaxInt64); err != nil {
		return err
	}
	instance, err := wasmtime.NewInstance(p.store, module, nil)
	if err != nil {
		return err
	}
	if p.entry = instance.GetFunc(p.store, "run"); p.entry == nil {
		return fmt.Errorf("%s exports no run", file)
	}
	return nil
}

func (p *program) run(n string) (string, error) {
	arg, err := strconv.ParseInt(n, 10, 32)
	if err != nil || p.entry == nil {
		return "", fmt.Errorf("run %q: %v", n, err)
	}
	if err := p.store.SetFuel(math.MaxInt64); err != nil {
		return "", err
	}
	start := time.Now()
	result, err := p.entry.Call(p.store, int32(arg))
	took := time.Since(start)
	return fmt.Sprintf("%d %v", took.Nanoseconds(), result), err
}
