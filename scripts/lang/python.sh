#!/usr/bin/env bash
# CPython 3.11 with its standard library as a WASI module, from the sources that
# Debian ships, with zlib. Three minutes on two cores.
#
# usage: python.sh [--install] DIR
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
begin 'python3.11 make pkg-config clang lld llvm wasi-libc libclang-rt-14-dev-wasm32' "$@"
python=/usr/bin/python3.11
need $python python3.11
need make make
need pkg-config pkg-config
need_wasi
need apt-get apt

# Sources come through apt, from a list of its own: the machine's stays as it is.
say "fetching the sources"
mkdir -p "$work/apt/lists/partial" "$work/apt/archives/partial" "$work/src"
# The mirror is the machine's own, unless DEBIAN_MIRROR names one.
mirror=${DEBIAN_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Codename: bookworm' | sed -n 1p)}
printf 'deb-src [signed-by=%s] %s bookworm main\n' /usr/share/keyrings/debian-archive-keyring.gpg \
	"${mirror:-http://deb.debian.org/debian}" >"$work/apt/sources.list"
apt=(apt-get -qq -o Dir::Etc::SourceList="$work/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
	-o Dir::State::Lists="$work/apt/lists" -o Dir::Cache="$work/apt" -o Debug::NoLocking=1)
[ "$(id -u)" != 0 ] || apt+=(-o APT::Sandbox::User=root)
"${apt[@]}" update
(cd "$work/src" && "${apt[@]}" source --download-only --tar-only python3.11 zlib >/dev/null)
cd "$work/src"
checked python3.11_3.11.2.orig.tar.gz 2411c74bda5bbcfcddaf4531f66d1adc73f247f529aee981b029513aefdbf849
checked zlib_1.2.13.dfsg.orig.tar.bz2 71feb7947e3c00ef125f83b79a4e529bde31171e5babe48b391f06758d1ab0a1
mkdir python zlib
tar -xzf python3.11_*.tar.gz -C python --strip-components=1
tar -xjf zlib_*.tar.bz2 -C zlib --strip-components=1

wasi="clang --target=wasm32-wasi --sysroot=/usr -ffile-prefix-map=$work/src=/src"

say "building zlib"
cd "$work/src/zlib"
objects=()
for name in adler32 compress crc32 deflate inffast inflate inftrees trees uncompr zutil; do
	$wasi -O2 -w -D_LARGEFILE64_SOURCE=1 -c "$name.c" -o "$name.o"
	objects+=("$name.o")
done
llvm-ar rcsD libz.a "${objects[@]}"

say "building python"
cd "$work/src/python"
sed -i 's/#define DATE __DATE__/#define DATE "Feb  7 2023"/; s/#define TIME __TIME__/#define TIME "00:00:00"/' Modules/getbuildinfo.c
# Calls that go through C take the most of a unit's stack. They count threefold, so
# that recursion ends in Python's own error; calls among Python functions don't nest
# in C, and have the limit that Python has elsewhere.
sed -i 's/# *define Py_DEFAULT_RECURSION_LIMIT 600/# define Py_DEFAULT_RECURSION_LIMIT 1000/
s/return _PyEval_EvalFrameDefault(tstate, frame, throwflag);/tstate->recursion_remaining -= 2; PyObject *result = _PyEval_EvalFrameDefault(tstate, frame, throwflag); tstate->recursion_remaining += 2; return result;/' \
	Include/internal/pycore_ceval.h
[ "$(grep -c 'LIMIT 1000\|recursion_remaining -= 2' Include/internal/pycore_ceval.h)" = 3 ] || die 'the sources are not as expected'
mkdir builddir && cd builddir
export CC="$wasi" CPP="$wasi -E" CXX="${wasi/clang/clang++}" AR=llvm-ar RANLIB=llvm-ranlib LDSHARED=wasm-ld
export OPT='-DNDEBUG -fwrapv -O2 -w' LDFLAGS=-Wl,--strip-all
export ZLIB_CFLAGS="-I$work/src/zlib" ZLIB_LIBS="-L$work/src/zlib -lz"
export CONFIG_SITE=../Tools/wasm/config.site-wasm32-wasi PKG_CONFIG_LIBDIR=/nonexistent
../configure -C --host=wasm32-unknown-wasi --build="$(uname -m)-pc-linux-gnu" --with-build-python=$python --prefix=/unit/.lang \
	--with-ensurepip=no --with-pymalloc --disable-test-modules >configure.log 2>&1 || { tail -20 configure.log; die 'configure failed'; }
# A stack for deep recursion in C; what isn't touched costs nothing.
nice make -j"${JOBS:-2}" LDFLAGS_NODIST='-Wl,-z,stack-size=4194304 -Wl,--initial-memory=16777216' python.wasm pybuilddir.txt >make.log 2>&1 ||
	{ tail -20 make.log; die 'make failed'; }
install -m 644 python.wasm ../LICENSE "$out/"

say "packing the standard library"
mkdir -p "$out/lib"
cp build/lib.*/_sysconfigdata_*.py ../Lib/
sed -i "s#$work/src#/src#g" ../Lib/_sysconfigdata_*.py
$python -I "$here/python-stdlib.py" ../Lib "$out/lib"
cat >"$out/lang.json" <<'JSON'
{
  "schema": "joulebox.lang-recipe/1",
  "version": "CPython 3.11.2",
  "module": "python.wasm",
  "files": ["lib", "LICENSE"],
  "extensions": [".py"],
  "interpreters": ["python3", "python"],
  "args": ["{script}"],
  "env": ["PYTHONHOME=/unit/.lang", "PYTHONPATH=/unit/.lang/lib/core.zip", "PYTHONDONTWRITEBYTECODE=1", "PYTHONHASHSEED=0", "PYTHONUTF8=1", "PYTHONNOUSERSITE=1"],
  "needs": {"memory_bytes": 33554432}
}
JSON
ids "$out"
say "built; add it with: joulebox lang add python $out"
