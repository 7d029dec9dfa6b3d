#!/bin/sh
# What `make demo` shows: a real WASI program (cat, compiled from C) that may
# read one folder and nothing else, run at S2, then its record verified offline.
#
# usage: sh examples/demo.sh JOULEBOX OUTDIR
set -eu
joulebox=$1
out=$2
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"

say() { printf '\n$ %s\n' "$*"; }

say "joulebox run --mount examples/cat:/data --read /data --bundle $out/bundle.json cat.wasm /data/poem.txt > $out/stdout"
"$joulebox" run --mount "$here/cat:/data" --read /data --bundle "$out/bundle.json" "$here/cat/cat.wasm" /data/poem.txt > "$out/stdout"
cat "$out/stdout"

say "joulebox verify $out/bundle.json"
"$joulebox" verify "$out/bundle.json"

say "joulebox run cat.wasm /etc/passwd     # nothing granted, so nothing read"
"$joulebox" run "$here/cat/cat.wasm" /etc/passwd || echo "exit code $?"
