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
