# What the recipes share. Each builds one interpreter as a WASI module from
# sources that a package registry ships, into a directory that
# "joulebox lang add NAME DIR" takes. Nothing of it belongs into the repository.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export LC_ALL=C TZ=UTC SOURCE_DATE_EPOCH=0

die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }
say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

# begin PACKAGES ARGS…: reads [--install] DIR, sees to the packages, makes $out
# and a working folder $work that goes when the script ends.
begin() {
	local packages=$1 install=
	shift
	if [ "${1:-}" = --install ]; then install=1; shift; fi
	[ $# -eq 1 ] || { printf 'usage: %s [--install] DIR\n  DIR        where the language goes\n  --install  first install the Debian packages it is built with (needs root): %s\n' "${0##*/}" "$packages" >&2; exit 2; }
	if [ -n "$install" ]; then
		apt-get update -qq && apt-get install -y -qq --no-install-recommends $packages
	fi
	mkdir -p "$1"
	out=$(cd "$1" && pwd)
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
}

# need COMMAND PACKAGE: says what to install where a command is missing.
need() { command -v "$1" >/dev/null 2>&1 || die "$1 is missing: apt-get install $2 (or run this with --install)"; }

# need_file PATH PACKAGE
need_file() { compgen -G "$1" >/dev/null || die "$1 is missing: apt-get install $2 (or run this with --install)"; }

# need_wasi: a C compiler for WASI, as Debian has it.
need_wasi() {
	need clang clang
	need wasm-ld lld
	need llvm-ar llvm
	need_file /usr/include/wasm32-wasi/stdio.h wasi-libc
	need_file '/usr/lib/llvm-*/lib/clang/*/lib/wasi/libclang_rt.builtins-wasm32.a' libclang-rt-14-dev-wasm32
}

# checked FILE SHA256: the input is the one that this recipe was written for.
checked() {
	local got
	got=$(sha256sum "$1" | cut -d' ' -f1)
	[ "$got" = "$2" ] || die "${1##*/}: got sha256 $got, want $2: another file than this recipe was written for"
}

# ids DIR: what was built, to compare with another machine's.
ids() { (cd "$1" && find . -type f | sort | xargs sha256sum); }
