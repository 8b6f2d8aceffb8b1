"""Machine code on disk is that of the sources as they are."""

import shutil
import subprocess
import sys
from pathlib import Path

from isinglass.kernels import jit

CALLER = """
from kernels.jit import kernel
from kernels.callee import answer
@kernel
def ask():
    return answer()
"""
CALLEE = """
from kernels.jit import kernel
@kernel
def answer():
    return {}
"""


def test_a_kernel_is_compiled_anew_when_one_it_calls_has_changed(tmp_path):
    folder = tmp_path / "kernels"
    folder.mkdir()
    shutil.copy(Path(jit.__file__), folder / "jit.py")
    (folder / "__init__.py").touch()
    (folder / "caller.py").write_text(CALLER)

    def run(value):
        (folder / "callee.py").write_text(CALLEE.format(value))
        command = [sys.executable, "-B", "-c", "from kernels.caller import ask; print(ask(), "
                   "len(ask.stats.cache_hits))"]  # fmt: skip
        done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
        return tuple(map(int, done.stdout.split()))

    assert run(41) == (41, 0)
    assert run(41) == (41, 1)  # kept
    assert run(42) == (42, 0)


WAITING = """
import logging, sys
from kernels import jit
from kernels.caller import ask
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(name)s %(message)s")
class Terminal:
    def isatty(self): return {terminal}
    def write(self, text): print("shown", text, end="")
    def flush(self): pass
sys.stderr = Terminal()
ask()
"""


def test_the_first_compilation_is_told_once_where_somebody_waits(tmp_path):
    folder = tmp_path / "kernels"
    folder.mkdir()
    shutil.copy(Path(jit.__file__), folder / "jit.py")
    (folder / "__init__.py").touch()
    (folder / "caller.py").write_text(CALLER)
    (folder / "callee.py").write_text(CALLEE.format(1))

    def told(terminal):
        command = [sys.executable, "-B", "-c", WAITING.format(terminal=terminal)]
        return subprocess.run(
            command, cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout.splitlines()

    logged, shown = f"isinglass {jit.COMPILING}", f"shown note: {jit.COMPILING}"
    assert told(True) == [logged, shown]
    assert told(True) == []  # kept, and so there is nothing to wait for
    shutil.rmtree(folder / "__pycache__")
    assert told(False) == [logged]
