#!/bin/sh
# Rebuilds every example from its source. The artifacts are committed, so only
# somebody who changes a source needs this: it fetches wabt and binaryen from
# the npm registry into a temporary folder, and cat needs clang, lld and wasi-libc
# (Debian: clang lld wasi-libc libclang-rt-14-dev-wasm32).
#
# usage: sh examples/build.sh [OUTDIR]   (default: beside the sources)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here}
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
npm install --silent --no-fund --no-audit --prefix "$tools" wabt@1.0.39 binaryen@132.0.0
bin=$tools/node_modules/.bin

for name in hello counter spin eater; do
	mkdir -p "$out/$name"
	"$bin/wat2wasm" "$here/$name/$name.wat" -o "$out/$name/$name.wasm"
	"$bin/wasm-strip" "$out/$name/$name.wasm"
done

if ! command -v clang >/dev/null; then
	echo "build.sh: clang isn't here, so cat was left as it is" >&2
	exit 0
fi
mkdir -p "$out/cat"
clang --target=wasm32-wasi --sysroot="${WASI_SYSROOT:-/usr}" -Oz -flto -Wall -Werror \
	-Wl,--strip-all -Wl,--gc-sections -Wl,-z,stack-size=16384 \
	"$here/cat/cat.c" -o "$tools/cat.wasm"
"$bin/wasm-opt" -Oz --converge --strip-debug --strip-producers --mvp-features --enable-bulk-memory \
	"$tools/cat.wasm" -o "$out/cat/cat.wasm"
chmod 644 "$out/cat/cat.wasm"
