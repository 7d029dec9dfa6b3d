package supervisor_test

import (
	"encoding/binary"
	"slices"

	"github.com/joulebox/joulebox/internal/hostcall"
	"github.com/joulebox/joulebox/internal/wasi"
	"github.com/joulebox/joulebox/internal/wasm"
)

// The acting program does what its standard input tells it: it can make every host
// call there is with any arguments, and a few things besides. An action is a
// number and nine arguments, 80 bytes, little-endian.
const (
	actionBytes = 80

	actSpin  = 1000 + iota // arg 0 times
	actGrow                // by arg 0 pages
	actCopy                // the word at arg 0 to arg 1
	actPut                 // arg 1 at arg 0
	actCrash               // unreachable
	actStop                // returns arg 0
)

// Where the acting program has its own words; everything else is the actions'.
const (
	iovecAt  = 0
	readAt   = 8
	resultAt = 16
	actionAt = 64
)

// hostFuncs are the calls of the acting program, by the number of their action.
func hostFuncs() []wasm.HostFunc { return slices.Concat(wasi.HostFuncs(), hostcall.HostFuncs()) }

func findFunc(module, name string) uint64 {
	return uint64(slices.IndexFunc(hostFuncs(), func(f wasm.HostFunc) bool { return f.Module == module && f.Name == name }))
}

func uleb(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }

func vec(items [][]byte) []byte { return append(uleb(len(items)), slices.Concat(items...)...) }

func text(s string) []byte { return append(uleb(len(s)), s...) }

func i32(n int32) []byte { return append([]byte{0x41}, sleb(n)...) }

// load32 and load64 push an argument of the action.
func load32(arg int) []byte {
	return slices.Concat(i32(int32(actionAt+8+8*arg)), []byte{0x28, 0, 0})
}
func load64(arg int) []byte {
	return slices.Concat(i32(int32(actionAt+8+8*arg)), []byte{0x29, 0, 0})
}

// when runs the body if the action is the one of this number.
func when(number int, body ...[]byte) []byte {
	return slices.Concat([]byte{0x20, 0}, i32(int32(number)), []byte{0x46, 0x04, 0x40}, slices.Concat(body...), []byte{0x0b})
}

// acting assembles the program. It exports run and a global that it counts
// actions in.
func acting() []byte {
	var types, imports [][]byte
	funcs := hostFuncs()
	for i, f := range funcs {
		types = append(types, slices.Concat([]byte{0x60}, text(string(f.Params)), text(string(f.Results))))
		imports = append(imports, slices.Concat(text(f.Module), text(f.Name), []byte{0}, uleb(i)))
	}
	types = append(types, []byte{0x60, 0, 1, 0x7f})
	code := slices.Concat([]byte{1, 2, 0x7f}, readAction(int(findFunc("wasi_snapshot_preview1", "fd_read"))), dispatch(funcs), []byte{
		0x0c, 0, // br 0: the next action
		0x0b, 0x41, 0, 0x0b, // end, i32.const 0, end
	})
	section := func(id byte, content []byte) []byte {
		return slices.Concat([]byte{id}, uleb(len(content)), content)
	}
	return slices.Concat([]byte("\x00asm\x01\x00\x00\x00"),
		section(1, vec(types)), section(2, vec(imports)), section(3, vec([][]byte{uleb(len(funcs))})),
		section(5, []byte{1, 1, 2, 64}),
		section(6, []byte{1, 0x7f, 1, 0x41, 0, 0x0b}),
		section(7, vec([][]byte{slices.Concat(text("run"), []byte{0}, uleb(len(funcs))), slices.Concat(text("memory"), []byte{2, 0}), slices.Concat(text("acts"), []byte{3, 0})})),
		section(10, vec([][]byte{slices.Concat(uleb(len(code)), code)})))
}

// readAction opens the loop and fills the action from descriptor 0, in as many
// parts as it comes; at the end of the input it returns whether their number is odd.
func readAction(fdRead int) []byte {
	store := func(at int, value ...[]byte) []byte {
		return slices.Concat(i32(int32(at)), slices.Concat(value...), []byte{0x36, 0, 0})
	}
	have := []byte{0x20, 1}
	return slices.Concat(
		[]byte{0x03, 0x40}, // loop
		[]byte{0x41, 0, 0x21, 1},
		[]byte{0x03, 0x40}, // loop
		store(iovecAt, i32(actionAt), have, []byte{0x6a}),
		store(iovecAt+4, i32(actionBytes), have, []byte{0x6b}),
		store(readAt, i32(0)),
		i32(0), i32(iovecAt), i32(1), i32(readAt), []byte{0x10}, uleb(fdRead), []byte{0x1a},
		i32(readAt), []byte{0x28, 0, 0, 0x45, 0x04, 0x40, 0x23, 0, 0x41, 1, 0x71, 0x0f, 0x0b}, // nothing: return whether the count is odd
		have, i32(readAt), []byte{0x28, 0, 0, 0x6a, 0x22, 1}, i32(actionBytes), []byte{0x49, 0x0d, 0}, // less than all: again
		[]byte{0x0b},
		[]byte{0x23, 0, 0x41, 1, 0x6a, 0x24, 0},    // acts += 1
		i32(actionAt), []byte{0x28, 0, 0, 0x21, 0}, // local 0 = the number
	)
}

func dispatch(funcs []wasm.HostFunc) (code []byte) {
	for i, f := range funcs {
		var body []byte
		if len(f.Results) > 0 {
			body = i32(resultAt)
		}
		for a, t := range f.Params {
			if t == 0x7f {
				body = append(body, load32(a)...)
			} else {
				body = append(body, load64(a)...)
			}
		}
		body = slices.Concat(body, []byte{0x10}, uleb(i))
		if len(f.Results) > 0 {
			body = append(body, 0x36+f.Results[0]&1^1, 0, 0) // i32.store, or i64.store
		}
		code = append(code, when(i, body)...)
	}
	return slices.Concat(code,
		when(actSpin, load32(0), []byte{0x21, 1, 0x03, 0x40, 0x20, 1, 0x41, 1, 0x6b, 0x22, 1, 0x0d, 0, 0x0b}),
		when(actGrow, load32(0), []byte{0x40, 0, 0x1a}),
		when(actCopy, load32(1), load32(0), []byte{0x28, 0, 0, 0x36, 0, 0}),
		when(actPut, load32(0), load64(1), []byte{0x37, 0, 0}),
		when(actCrash, []byte{0}),
		when(actStop, load32(0), []byte{0x0f}))
}

// action is one action's bytes.
func action(number uint64, args ...uint64) []byte {
	b := make([]byte, actionBytes)
	binary.LittleEndian.PutUint32(b, uint32(number))
	for i, a := range args {
		binary.LittleEndian.PutUint64(b[8+8*i:], a)
	}
	return b
}

// put places bytes into the program's memory.
func put(at int, data string) (actions []byte) {
	for len(data) > 0 {
		var word [8]byte
		n := copy(word[:], data)
		actions = append(actions, action(actPut, uint64(at), binary.LittleEndian.Uint64(word[:]))...)
		at, data = at+n, data[n:]
	}
	return actions
}
