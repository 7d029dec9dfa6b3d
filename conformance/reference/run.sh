#!/usr/bin/env bash
# Works the vectors out anew, with other code and other libraries than joulebox, and
# compares them with the pack. Needs node and npm.
#
# usage: conformance/reference/run.sh
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here"/objects.mjs "$here"/../interop/package.json "$here"/../interop/package-lock.json "$work"
npm ci --silent --no-fund --no-audit --prefix "$work"
mkdir "$work/vectors"
cd "$work" && node objects.mjs vectors
diff -r vectors "$here/../vectors"
echo "the vectors are what the reference works out"
