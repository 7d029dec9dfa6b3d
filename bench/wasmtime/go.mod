module github.com/joulebox/joulebox/bench/wasmtime

go 1.27

toolchain go1.27.3

require github.com/bytecodealliance/wasmtime-go/v37 v37.0.0
