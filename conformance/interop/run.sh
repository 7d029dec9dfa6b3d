#!/usr/bin/env bash
# Mints a bundle for each way that a run can end and at each tier that this host
# has, and has the other verifier judge them: it must accept each, and refuse each
# with any one byte of any member changed. Needs node and npm.
#
# usage: conformance/interop/run.sh JOULEBOX
set -euo pipefail
joulebox=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
examples=$here/../../examples
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export JOULEBOX_STATE=$work/state XDG_CACHE_HOME=$work/cache

cp "$here"/*.mjs "$here"/package.json "$here"/package-lock.json "$work"
npm ci --silent --no-fund --no-audit --prefix "$work"

key=$("$joulebox" key new 2>/dev/null)

# mint NAME EXIT-CODE FLAGS-AND-PROGRAM…
mint() {
	local name=$1 want=$2 got=0
	shift 2
	"$joulebox" run -q --bundle "$work/$name.json" "$@" >/dev/null 2>&1 </dev/null || got=$?
	[ "$got" = "$want" ] || { echo "$name: exit code $got, want $want"; exit 1; }
}
mint hello 0 "$examples/hello/hello.wasm"
mint cat 0 --mount "$examples/cat:/data" --read /data --clock --random "$examples/cat/cat.wasm" /data/poem.txt
mint denied 1 "$examples/cat/cat.wasm" /etc/passwd "an argument" "ein Würfel" 🎲
mint counter 0 --kv=rw:count "$examples/counter/counter.wasm"
mint challenge 0 --challenge hex:00112233445566778899aabbccddeeff "$examples/hello/hello.wasm"
mint ceilings 0 --read /data --max-iops 10 --max-read-bps 1MiB --net "[2001:db8::1]:443" --net example.com:443 "$examples/hello/hello.wasm"
mint time 124 --timeout 50ms "$examples/spin/spin.wasm"
mint energy 124 --energy 1mJ "$examples/spin/spin.wasm"
mint memory 137 --memory 1MiB "$examples/eater/eater.wasm"
mint trusted-s1 0 --trusted --log "$examples/hello/hello.wasm"
mint trusted-s0 0 --trusted "$examples/hello/hello.wasm"

cd "$work"
minted=(hello cat denied counter challenge ceilings time energy memory trusted-s1 trusted-s0)
node verify.mjs --key "$key" "${minted[@]/%/.json}"
node verify.mjs --key "$key" --challenge ABEiM0RVZneImaq7zN3u_w challenge.json
# Each bundle is changed some 2,500 times.
node mutate.mjs --key "$key" "${minted[@]/%/.json}"
# The verifier itself is judged by public bundles, where they are at hand.
vectors=${JOULEBOX_VECTORS:-$here/../../../shared/vectors}/11-bundle
if [ -d "$vectors" ]; then
	node vectors.mjs "$vectors"
else
	echo "not here: bundle vectors ($vectors)"
fi
# Under another key, none is accepted.
if node verify.mjs --key "${key:2}00" hello.json; then echo 'hello.json: accepted under another key'; exit 1; fi
