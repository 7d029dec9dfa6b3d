#!/usr/bin/env bash
# QuickJS 2021-03-27 (MIT) as a WASI module, from the C sources in the npm package
# qjsc. Half a minute.
#
# usage: quickjs.sh [--install] DIR
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
begin 'npm clang lld llvm wasi-libc libclang-rt-14-dev-wasm32' "$@"
need npm npm
need_wasi

version=0.3.0
tarball=qjsc-$version.tgz
(cd "$work" && npm pack --silent "qjsc@$version" >/dev/null) || die "npm couldn't fetch qjsc@$version"
checked "$work/$tarball" 4a9ed1852b334d842d5dac42d1782817ae26310b448de39532451fd45c9ba0ee
tar -xzf "$work/$tarball" -C "$work" package/deps/quickjs_2021_03_27
cd "$work/package/deps/quickjs_2021_03_27"

# Headers that WASI lacks; what is in them stands in quickjs-wasi.h.
mkdir -p wasi/sys
for name in dlfcn termios sys/wait pthread; do : >"wasi/$name.h"; done
sed -i 's/^#define USE_WORKER$//' quickjs-libc.c # workers are threads
# Timers go by the monotonic clock: the date stands still where no clock is granted.
sed -i 's/^#if defined(__linux__) || defined(__APPLE__)$/#if 1/' quickjs-libc.c
sed -i 's/^#define OS_PLATFORM "js"$/#define OS_PLATFORM "wasi"/' quickjs-libc.c
cp "$here/quickjs-extra.c" extra.c

# Small functions, since what a call takes of a unit's stack goes by their size; and
# a limit that ends recursion in an error of the language's own.
flags=(--target=wasm32-wasi --sysroot=/usr -Os -w -Iwasi -include "$here/quickjs-wasi.h"
	-DEMSCRIPTEN -DCONFIG_STACK_CHECK -DCONFIG_BIGNUM "-DCONFIG_VERSION=\"$(cat VERSION)\""
	-D_GNU_SOURCE -D_WASI_EMULATED_SIGNAL -D_WASI_EMULATED_PROCESS_CLOCKS -DFE_DOWNWARD=0 -DFE_UPWARD=0)
objects=()
for name in quickjs libregexp libunicode cutils libbf quickjs-libc qjs extra; do
	clang "${flags[@]}" -c "$name.c" -o "$name.o"
	objects+=("$name.o")
done
clang --target=wasm32-wasi --sysroot=/usr -Wl,--stack-first -Wl,-z,stack-size=4194304 -Wl,--strip-all \
	-o qjs.wasm "${objects[@]}" -lwasi-emulated-signal -lwasi-emulated-process-clocks -lm

install -m 644 qjs.wasm LICENSE "$out/"
install -m 644 "$here/quickjs-prelude.js" "$out/prelude.js"
cat >"$out/lang.json" <<'JSON'
{
  "schema": "joulebox.lang-recipe/1",
  "version": "QuickJS 2021-03-27",
  "module": "qjs.wasm",
  "files": ["prelude.js", "LICENSE"],
  "extensions": [".js", ".mjs"],
  "interpreters": ["qjs", "node"],
  "args": ["--std", "--stack-size", "180000", "--unhandled-rejection", "--include", "/unit/.lang/prelude.js", "{script}"],
  "env": [],
  "needs": {"memory_bytes": 16777216}
}
JSON
ids "$out"
say "built; add it with: joulebox lang add javascript $out"
