"""Public names: one list of them in stub files, loaded when first used."""

import ast
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import isinglass as ig
from isinglass.lazy import homes

PACKAGE = Path(ig.__file__).parent
LAZY = [ig, ig.attacks, ig.mechanisms, ig.metrics, ig.theory]


@pytest.mark.parametrize("module", LAZY, ids=lambda m: m.__name__)
def test_every_public_name_is_there_and_listed(module):
    listed = homes(Path(module.__file__).with_suffix(".pyi"))
    assert set(dir(module)) - {"__version__"} == set(listed)
    assert module.__all__ == dir(module)
    for name in dir(module):
        assert getattr(module, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = module.Nothing


def test_a_flat_name_is_one_a_readme_shows():
    modules = {"attacks", "datasets", "errors", "mechanisms", "metrics", "theory"}
    assert modules < set(dir(ig))
    assert len(set(dir(ig)) - modules - {"__version__"}) <= 39
    for base in (ig.Attack, ig.Detector, ig.Perturbation, ig.Question):
        assert isinstance(base, type)


def test_no_flat_name_is_that_of_a_submodule():
    """Importing a submodule sets an attribute of its name, and the name in the list is gone."""
    inner = {found.name for found in pkgutil.iter_modules(ig.__path__)}
    listed = homes(PACKAGE / "__init__.pyi")
    assert {n for n in inner & set(listed) if listed[n][0] != "isinglass"} == set()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ICAAttack", "ig.attacks.ICAAttack"),
        ("KnownPairs", "ig.attacks.KnownPairs"),
        ("sparse_mechanism", "ig.mechanisms.sparse"),
        ("falsify", "ig.mechanisms.falsify"),
        ("privacy_level", "ig.metrics.privacy_level"),
        ("AuditError", "ig.errors.AuditError"),
    ],
)
def test_a_name_that_moved_says_where_it_is(old, new):
    with pytest.raises(AttributeError, match=f"^{old} is now {new}$"):
        getattr(ig, old)
    found = ig
    for part in new.split(".")[1:]:
        found = getattr(found, part)


def test_a_star_import_brings_the_names():
    code = "from isinglass import *; from isinglass.attacks import *; print(Distortion, ICAAttack)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "Distortion" in result.stdout, result.stderr


@pytest.mark.parametrize("module", LAZY, ids=lambda m: m.__name__)
def test_a_type_checker_takes_every_import_for_an_exported_name(module):
    """In a stub only `import name as name` exports; other aliases would be private to mypy."""
    tree = ast.parse(Path(module.__file__).with_suffix(".pyi").read_text())
    aliases = [a for n in tree.body if isinstance(n, ast.ImportFrom) for a in n.names]
    assert [a.asname for a in aliases if a.asname not in (None, a.name)] == []
    renamed = {n.value.id for n in tree.body if isinstance(n, ast.Assign)}
    assert {a.name for a in aliases if a.asname is None} == renamed
