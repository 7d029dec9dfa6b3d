#!/bin/sh
# Rebuilds the units of the scripts; needs what examples/build.sh needs.
set -eu
cd "$(dirname "$0")"
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
npm install --silent --no-fund --no-audit --prefix "$tools" wabt@1.0.39 binaryen@132.0.0
bin=$tools/node_modules/.bin
for source in *.wat; do
	"$bin/wat2wasm" "$source" -o "${source%.wat}.wasm"
	"$bin/wasm-strip" "${source%.wat}.wasm"
done
clang --target=wasm32-wasi --sysroot="${WASI_SYSROOT:-/usr}" -Oz -flto -Wall -Werror \
	-Wl,--strip-all -Wl,--gc-sections -Wl,-z,stack-size=16384 probe.c -o "$tools/probe.wasm"
"$bin/wasm-opt" -Oz --converge --strip-debug --strip-producers --mvp-features --enable-bulk-memory "$tools/probe.wasm" -o probe.wasm
chmod 644 ./*.wasm
