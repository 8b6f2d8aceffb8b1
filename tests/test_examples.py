"""Every public name has an example in its docstring, and every example runs.

`ig` and `np` stand for isinglass and NumPy, as in NumPy's own examples.
"""

import doctest
import inspect
import os

import numpy as np
import pytest

import isinglass as ig

MODULES = (ig, ig.attacks, ig.mechanisms, ig.metrics, ig.theory, ig.datasets)


def public():
    for module in MODULES:
        for name in dir(module):
            found = getattr(module, name)
            what = inspect.isclass(found) or inspect.isfunction(found)
            if what and not name.startswith("_") and not _is_error(found):
                yield pytest.param(found, id=f"{module.__name__}.{name}")


def _is_error(found):
    return inspect.isclass(found) and issubclass(found, BaseException)


@pytest.mark.filterwarnings("ignore::isinglass.errors.PrivacyWarning")
@pytest.mark.parametrize("found", list(public()))
def test_the_example_runs(found, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ISINGLASS_HOME", str(tmp_path))
    monkeypatch.setenv("ISINGLASS_DATA", os.environ.get("ISINGLASS_DATA", str(tmp_path)))
    if found is ig.Autoencoder:
        pytest.importorskip("torch")
    text = inspect.getdoc(found)
    example = doctest.DocTestParser().get_doctest(
        text, {"ig": ig, "np": np}, found.__name__, inspect.getsourcefile(found), None
    )
    assert example.examples, "its docstring has no example"
    shown = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(example, out=shown.append)
    assert not runner.failures, "".join(shown)
