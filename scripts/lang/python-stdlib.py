"""Packs the standard library into two zips that Python imports from.

usage: python-stdlib.py LIB FOLDER

Modules are compiled, since a unit keeps nothing that it compiles. Python reads the
list of a zip's files before it imports the first: what most scripts use is in a
zip of its own, core.zip, and the rest in python311.zip is often not looked at.
What can't work in a unit (processes, native modules, windows) or is for developing
Python itself is left out. The same input gives the same bytes.
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
CORE = """
    argparse base64 bisect calendar collections contextlib copy csv dataclasses datetime encodings.ascii
    encodings.latin_1 encodings.utf_8 enum fractions functools glob hashlib heapq html io itertools json math numbers
    operator pathlib pprint random re secrets statistics string struct tempfile textwrap time traceback types typing
    urllib.parse uuid weakref
"""
# Python imports this at each start. Native modules that this build lacks are said to
# be missing at once, else the whole library would be read to look for them.
SITECUSTOMIZE = b'''\
import sys

class Absent:
    names = {"_bz2", "_ctypes", "_hashlib", "_lzma", "_posixshmem", "_posixsubprocess", "_scproxy", "_socket", "_ssl",
             "_tkinter", "_uuid", "_winapi", "fcntl", "grp", "java", "msvcrt", "nt", "org", "pwd", "select", "termios",
             "usercustomize", "vms_lib", "winreg"} - set(sys.builtin_module_names)

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name in cls.names and path is None:
            raise ModuleNotFoundError("No module named %r" % name, name=name)

sys.meta_path.insert(0, Absent)
sys.modules["encodings"].__path__.append("/unit/.lang/lib/python311.zip/encodings")
'''
# asyncio's own loops wake themselves through a socket. This one has none to wait for:
# tasks, timers, queues and locks work, connections and subprocesses don't.
ASYNCIO = b'''


class _TimerSelector:
    def select(self, timeout=None):
        if timeout is None:
            raise RuntimeError("deadlock: every task waits for another, and no timer runs")
        if timeout > 0:
            time.sleep(timeout)
        return []

    def close(self):
        pass


class _UnitEventLoop(base_events.BaseEventLoop):
    def __init__(self):
        super().__init__()
        self._selector = _TimerSelector()

    def run_in_executor(self, executor, func, *args):
        done = self.create_future()  # there are no threads: it is run at once
        try:
            done.set_result(func(*args))
        except Exception as error:
            done.set_exception(error)
        return done

    def _process_events(self, event_list):
        pass

    def _write_to_self(self):
        pass


import time
_UnixDefaultEventLoopPolicy._loop_factory = _UnitEventLoop
'''
ADDED = {"asyncio/unix_events.py": ASYNCIO}
UNCHECKED = (0b01).to_bytes(4, "little")  # a hash-based pyc that is taken as it is (PEP 552)


def modules(lib):
    for folder, folders, names in os.walk(lib):
        folders[:] = sorted(d for d in folders if d not in LEFT_OUT)
        for name in sorted(names):
            if name.endswith(".py") and name not in LEFT_OUT:
                yield os.path.relpath(os.path.join(folder, name), lib)


def is_core(name):
    """Whether a file is of a core module or of what one imports. A package is in one
    zip as a whole, but for encodings: sitecustomize says where the rest of them is."""
    module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    if not module.startswith("encodings."):
        module = module.partition(".")[0]
    return module in sys.modules


def compiled(source, name, archive):
    code = compile(source, "/unit/.lang/lib/%s/%s" % (archive, name), "exec", dont_inherit=True, optimize=0)
    return importlib.util.MAGIC_NUMBER + UNCHECKED + importlib.util.source_hash(source) + marshal.dumps(code)


def pack(folder, archive, sources):
    with zipfile.ZipFile(os.path.join(folder, archive), "w") as out:
        for name, source in sources:
            info = zipfile.ZipInfo(name + "c", (1980, 1, 1, 0, 0, 0))
            out.writestr(info, compiled(source, name, archive))


def read(lib, name):
    with open(os.path.join(lib, name), "rb") as f:
        return name, f.read() + ADDED.get(name, b"")


def main(lib, folder):
    for name in CORE.split():
        __import__(name)
    everything = list(modules(lib))
    pack(folder, "core.zip", [("sitecustomize.py", SITECUSTOMIZE)] + [read(lib, n) for n in everything if is_core(n)])
    pack(folder, "python311.zip", [read(lib, n) for n in everything if not is_core(n)])


main(*sys.argv[1:])
