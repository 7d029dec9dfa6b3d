"""Packs the standard library into one zip that Python imports from.

usage: python-stdlib.py LIB ZIP

Modules are compiled, since the unit can't keep what it compiles; their sources go
along for tracebacks. What can't work in a unit (threads, processes, windows) or is
for developing Python itself is left out. The same input gives the same bytes.
"""

import importlib.util
import marshal
import os
import sys
import zipfile

LEFT_OUT = {
    "__phello__", "ctypes", "curses", "dbm", "ensurepip", "idlelib", "lib-dynload", "lib2to3", "msilib",
    "multiprocessing", "site-packages", "sqlite3", "test", "tests", "tkinter", "turtledemo", "venv", "__pycache__",
    "antigravity.py", "turtle.py", "this.py",
}
UNCHECKED = (0b01).to_bytes(4, "little")  # a hash-based pyc that is taken as it is (PEP 552)


def modules(lib):
    for folder, folders, names in os.walk(lib):
        folders[:] = sorted(d for d in folders if d not in LEFT_OUT)
        for name in sorted(names):
            if name.endswith(".py") and name not in LEFT_OUT:
                yield os.path.relpath(os.path.join(folder, name), lib)


def compiled(source, name):
    code = compile(source, "/unit/.lang/lib/python311.zip/" + name, "exec", dont_inherit=True, optimize=0)
    return importlib.util.MAGIC_NUMBER + UNCHECKED + importlib.util.source_hash(source) + marshal.dumps(code)


def add(archive, name, data, how):
    info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    info.compress_type = how
    archive.writestr(info, data)


def main(lib, path):
    with zipfile.ZipFile(path, "w") as archive:
        for name in modules(lib):
            with open(os.path.join(lib, name), "rb") as f:
                source = f.read()
            add(archive, name + "c", compiled(source, name), zipfile.ZIP_STORED)
            add(archive, name, source, zipfile.ZIP_DEFLATED)


main(*sys.argv[1:])
