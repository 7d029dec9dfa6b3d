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
out=$(cd "$out" && pwd)
# A key and a cache of its own, so that a look around leaves nothing elsewhere.
rm -rf "$out/state"
export JOULEBOX_STATE="$out/state" XDG_CACHE_HOME="$out/cache"

say() { printf '\n$ %s\n' "$*"; }

say "joulebox run --mount examples/cat:/data --read /data --bundle bundle.json cat.wasm /data/poem.txt > stdout"
"$joulebox" run --mount "$here/cat:/data" --read /data --bundle "$out/bundle.json" "$here/cat/cat.wasm" /data/poem.txt > "$out/stdout"
cat "$out/stdout"

say "joulebox verify bundle.json"
"$joulebox" verify "$out/bundle.json"

say "joulebox receipts show, the same as text"
id=$(sed -n 's/.*"receipt_id":"\([^"]*\)".*/\1/p' "$out/bundle.json")
"$joulebox" receipts show "$id"

say "joulebox run cat.wasm /etc/passwd     # nothing granted, so nothing read"
"$joulebox" run "$here/cat/cat.wasm" /etc/passwd || echo "exit code $?"

printf '\nIn %s: stdout, what the program printed; bundle.json, its receipt and attestation.\n' "$out"
