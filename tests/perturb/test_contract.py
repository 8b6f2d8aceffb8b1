"""What every perturbation must do, and must never do: show its key."""

import copy
import io
import itertools
import json
import logging
import os
import pickle
import subprocess
import sys
import traceback
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.utils import estimator_html_repr
from sklearn.utils.estimator_checks import check_estimator
from tests.checks import PERTURBATIONS
from threadpoolctl import threadpool_limits

import isinglass as ig
from isinglass.errors import KeyFileError, ReleaseError
from isinglass.method_names import METHODS
from isinglass.perturb.base import Perturbation
from isinglass.perturb.key import KeyFile, read_key, write_key
from isinglass.perturb.registry import class_named, class_of, variant_named
from isinglass.perturb.scaled import ScaledPerturbation
from isinglass.table.survey import survey

TABLE = np.random.default_rng(11).random((257, 5))
every = pytest.mark.parametrize("name", list(PERTURBATIONS))


def fitted(name: str, **settings) -> Perturbation:
    veil = clone(PERTURBATIONS[name][0]).set_params(**settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ig.PrivacyWarning)
        return veil.fit(TABLE)


def test_every_method_is_in_the_contract():
    assert {type(p) for p, _ in PERTURBATIONS.values()} == {class_named(name) for name in METHODS}


def test_the_list_of_names_agrees_with_the_classes():
    for name, entry in METHODS.items():
        kind = class_named(name)
        assert kind is class_of(entry.method)
        assert kind.method == entry.method
        assert name in kind.variants
        assert entry.keeps_units == (kind.keeps_columns and kind.keeps_rows)
        assert entry.help
    named = {name for method in METHODS for name in class_named(method).variants}
    assert named == set(METHODS)
    assert class_of("nothing of ours") is None


@pytest.mark.parametrize("name", METHODS)
def test_a_variant_names_parameters_that_exist(name):
    kind, settled = class_named(name), variant_named(name)
    varied = [] if settled.strength is None else [settled.strength.parameter]
    known = set(kind().get_params())
    assert {*settled.fixed, *varied} <= known
    if settled.strength is not None:
        assert list(settled.strength.values) == sorted(settled.strength.values)


def test_one_method_is_loaded_without_the_others():
    code = (
        "import sys\nfrom isinglass.perturb.registry import class_named\n"
        "class_named('gaussian')\n"
        "print(*sorted(m for m in sys.modules if m.startswith('isinglass.perturb.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    files = {entry.file for entry in METHODS.values()}
    loaded = {module.rpartition(".")[2] for module in done.stdout.split()}
    assert loaded & files == {"noise"}


@every
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_checks_pass(name):
    veil, expected = PERTURBATIONS[name]
    results = check_estimator(clone(veil), expected_failed_checks=expected, on_fail=None)
    failed = {r["check_name"] for r in results if r["status"] == "failed"}
    # Those that need an optional array library are skipped by scikit-learn itself.
    assert not failed
    met = {r["check_name"] for r in results if r["status"] == "xfail"}
    assert met == set(expected), "an exception that is no longer needed must go"


@every
def test_the_docstring_says_what_holds_and_how_it_breaks(name):
    text = type(PERTURBATIONS[name][0]).__doc__
    places = [text.find(h) for h in ("Guarantee:", "Utility:", "Weakness:", "Parameters", "Refer")]
    assert -1 not in places
    assert places == sorted(places)
    assert "Guarantee: none" in text
    assert PERTURBATIONS[name][0].promise.kind == "heuristic"


def secrets_of(veil: Perturbation) -> list[str]:
    """Long enough runs of digits that stand for the key's numbers, and the learned bounds."""
    arrays = [a for a in veil.key_file().arrays.values() if a.size]
    digits = []
    for array in arrays:
        for number in np.asarray(array).ravel()[:400].tolist():
            for text in (repr(number), f"{number:.6g}", f"{number:.4f}"):
                figures = text.replace("-", "").lstrip("0.")
                if len(figures) >= 4 and not set(figures) <= set("01.e"):
                    digits.append(text.replace("-", ""))
    return digits


@every
def test_the_key_never_shows(name, caplog):
    veil = fitted(name, random_state=None)
    caplog.set_level(logging.DEBUG)
    shown = [repr(veil), str(veil), estimator_html_repr(veil), repr(veil._key), str(veil._key)]
    shown += [repr(veil.key_file()), f"{veil.__dict__.get('_scaling')}", repr([veil])]
    bundle = veil._repr_mimebundle_()
    shown += [str(v) for v in bundle.values()]
    shown.append(repr({k: v for k, v in vars(veil).items() if not k.startswith("_")}))
    for bad in (TABLE[:, :2], np.full((2, 5), np.nan), "text", TABLE[:0]):
        try:
            veil.transform(bad)
        except Exception as error:
            shown += [str(error), "".join(traceback.format_exception(error))]
        else:
            pytest.fail("bad input must raise")
    out = io.StringIO()
    print(veil, veil._key, file=out)
    shown += [out.getvalue(), caplog.text, str(veil.public_parameters())]
    text = "\n".join(shown)
    found = [digits for digits in secrets_of(veil) if digits in text]
    assert not found


@every
def test_public_attributes_hold_no_arrays_of_the_table_or_key(name):
    """A notebook displays attributes that end in an underscore, values and all."""
    veil = fitted(name)
    arrays = {
        k: v
        for k, v in vars(veil).items()
        if k.endswith("_") and isinstance(v, np.ndarray) and k != "feature_names_in_"
    }
    assert not arrays


@pytest.mark.parametrize(
    "name",
    [n for n, (p, _) in PERTURBATIONS.items() if isinstance(p, ScaledPerturbation) and not p.clip],
)
def test_rows_beyond_learned_bounds_are_moved_to_them_and_it_is_said(name):
    veil = fitted(name)
    beyond = TABLE + np.array([0.0, 9.0, 0.0, 0.0, 0.0])
    low, high = veil.key_bounds()
    inside = np.clip(beyond, low, high)
    with pytest.warns(ig.PrivacyWarning, match=r"outside the bounds: column 1 \(257\); they were"):
        moved = veil.transform_rows(beyond, 0)
    np.testing.assert_array_equal(moved, veil.transform_rows(inside, 0))
    with pytest.raises(ValueError, match=r"column 1 \(257\); widen them or pass clip=True"):
        fitted(name, bounds=(low, high)).transform_rows(beyond, 0)


@every
def test_pickling_and_copying_warn(name):
    veil = fitted(name)
    for carry in (pickle.dumps, copy.deepcopy, copy.copy):
        with pytest.warns(ig.PrivacyWarning, match="pickled or copied"):
            carry(veil)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pickle.dumps(clone(veil))  # unfitted: nothing to leak


@every
@pytest.mark.parametrize("passphrase", [None, "correct horse"])
def test_a_saved_key_gives_the_same_bytes(name, passphrase, tmp_path):
    veil = fitted(name)
    path = tmp_path / "veil.key"
    veil.save_key(path, passphrase=passphrase)
    assert path.stat().st_mode & 0o777 == 0o600
    back = ig.load_key(path, passphrase=passphrase)
    assert type(back) is type(veil)
    rest = TABLE[3:]
    np.testing.assert_array_equal(back.transform_rows(rest, 3), veil.transform_rows(rest, 3))
    again = type(veil).from_key(path, passphrase=passphrase)
    np.testing.assert_array_equal(again.transform_rows(rest, 3), veil.transform_rows(rest, 3))
    assert repr(back).count("array") == 0


def test_each_way_a_key_file_fails_has_its_own_sentence(tmp_path):
    path = tmp_path / "a.key"
    veil = fitted("tanh")
    veil.save_key(path, passphrase="right")
    with pytest.raises(KeyFileError, match="passphrase is wrong"):
        ig.load_key(path, passphrase="wrong")
    with pytest.raises(KeyFileError, match="is locked"):
        ig.load_key(path)
    with pytest.raises(KeyFileError, match="belongs to the method distortion, not rotation"):
        ig.Rotation.from_key(path, passphrase="right")
    with pytest.raises(ReleaseError, match="exists"):
        veil.save_key(path)
    with pytest.raises(KeyFileError, match="passphrase is empty"):
        veil.save_key(tmp_path / "b.key", passphrase="")
    with pytest.raises(KeyFileError, match="No such file"):
        ig.load_key(tmp_path / "none.key")
    other = tmp_path / "other"
    other.write_bytes(b"PAR1 something else entirely" * 20)
    os.chmod(other, 0o600)
    with pytest.raises(KeyFileError, match="is not an isinglass key"):
        ig.load_key(other)


def test_a_truncated_key_says_so_wherever_it_was_cut(tmp_path):
    path = tmp_path / "a.key"
    for passphrase in (None, "right"):
        fitted("tanh").save_key(path, passphrase=passphrase, force=True)
        whole = path.read_bytes()
        for size in (0, 5, 9, 60, len(whole) // 2, len(whole) - 1):
            path.write_bytes(whole[:size])
            with pytest.raises(KeyFileError, match="truncated"):
                ig.load_key(path, passphrase=passphrase)


def test_changing_a_locked_keys_header_is_noticed(tmp_path):
    path = tmp_path / "a.key"
    fitted("tanh").save_key(path, passphrase="right")
    path.write_bytes(path.read_bytes().replace(b'"distortion"', b'"projection"'))
    with pytest.raises(KeyFileError, match="was changed"):
        ig.load_key(path, passphrase="right")


def test_a_key_others_can_read_warns(tmp_path):
    path = tmp_path / "a.key"
    fitted("tanh").save_key(path)
    os.chmod(path, 0o644)
    with pytest.warns(ig.PrivacyWarning, match="chmod 600"):
        read_key(path)


def test_a_locked_key_holds_no_secret_in_the_clear(tmp_path):
    path = tmp_path / "a.key"
    veil = fitted("tanh", random_state=None)
    veil.save_key(path, passphrase="right")
    data = path.read_bytes()
    for array in veil.key_file().arrays.values():
        assert array.tobytes()[:16] not in data
    assert b"parameters" not in data


def test_a_function_of_ones_own_cannot_be_saved(tmp_path):
    veil = ig.Distortion(np.sin, bounds="scaled").fit(TABLE)
    with pytest.raises(KeyFileError, match="never code"):
        veil.save_key(tmp_path / "a.key")


@every
@settings(max_examples=12)
@given(cuts=st.lists(st.integers(0, 257), max_size=5), narrow=st.booleans())
def test_equal_bytes_whatever_the_batches(name, cuts, narrow):
    veil = fitted(name)
    table = TABLE.astype(np.float32) if narrow else TABLE
    if isinstance(veil, ScaledPerturbation):
        veil.clip = True
    whole = veil.transform_rows(table, 0)
    assert whole.dtype == table.dtype
    edges = [0, *sorted(cuts), 257]
    for a, b in itertools.pairwise(edges):
        if a < b:
            np.testing.assert_array_equal(veil.transform_rows(table[a:b], a), whole[a:b])
            by_columns = np.asfortranarray(table[a:b])
            np.testing.assert_array_equal(veil.transform_rows(by_columns, a), whole[a:b])


@every
def test_noise_rows_are_never_used_twice(name):
    veil = fitted(name)
    same = np.repeat(TABLE[:1], 40, axis=0)
    if not veil.draws_noise:
        np.testing.assert_array_equal(veil.transform(same), veil.transform(same))
        return
    twice = np.vstack([veil.transform(same), veil.transform(same)])
    assert len(np.unique(twice[:, 0])) == 80
    with pytest.warns(ig.PrivacyWarning):
        carried = pickle.loads(pickle.dumps(veil))
    with pytest.raises(ReleaseError, match="which rows already got noise"):
        carried.transform(same)


@every
def test_two_keys_are_two_keys(name):
    first, second = (fitted(name, random_state=None) for _ in range(2))
    a, b = (v.transform_rows(TABLE, 0) for v in (first, second))
    assert not np.allclose(a, b)


@every
def test_a_survey_is_as_good_as_the_table(name):
    veil = clone(PERTURBATIONS[name][0])
    if veil.needs_table:
        with pytest.raises(ReleaseError, match="whole table"):
            veil.fit_survey(survey(TABLE))
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ig.PrivacyWarning)
        from_survey = clone(veil).fit_survey(survey(TABLE))
    np.testing.assert_array_equal(
        from_survey.transform_rows(TABLE, 0), fitted(name).transform_rows(TABLE, 0)
    )


@every
def test_the_seed_is_mentioned_never_shown(name):
    veil = fitted(name, random_state=424242)
    assert veil.seeded
    assert "424242" not in str(veil.public_parameters())
    assert "424242" not in str(veil.key_file().facts)
    assert not fitted(name, random_state=None).seeded


@every
def test_key_bytes_are_no_less_than_the_key(name):
    veil = fitted(name)
    held = sum(a.nbytes for a in veil.key_file().arrays.values())
    # Bounds come on top, and condensation's groups are counted with the table.
    room = 16 * TABLE.shape[1] + veil.table_bytes(*TABLE.shape)
    assert veil.key_bytes(TABLE.shape[1]) + room >= held


def damaged(stored: KeyFile, how: str) -> KeyFile:
    facts, arrays = json.loads(json.dumps(stored.facts)), dict(stored.arrays)
    if how == "no parameters":
        del facts["parameters"]
    elif how == "unknown parameter":
        facts["parameters"]["color"] = 1
    elif how == "no width":
        del facts["n_features"]
    elif how == "another width":
        facts["n_features"] = 7
    elif how == "no arrays":
        arrays = {}
    else:
        for name, array in arrays.items():
            if array.dtype == np.float64:
                arrays[name] = {
                    "not a number": np.full_like(array, np.nan),
                    "cut": array[:1, ...] if len(array) > 1 else array[:0],
                    "single precision": array.astype(np.float32),
                }[how]
    return KeyFile(stored.method, facts, arrays)


@pytest.mark.parametrize(
    "how",
    ["no parameters", "unknown parameter", "no width", "another width", "no arrays",
     "not a number", "cut", "single precision"],
)  # fmt: skip
@every
def test_a_damaged_key_is_told_to_be_damaged(name, how, tmp_path):
    stored = fitted(name).key_file()
    if (name, how) == ("multiplicative", "another width"):
        return  # its key serves any width
    if how in ("not a number", "cut", "single precision") and not any(
        a.dtype == np.float64 for a in stored.arrays.values()
    ):
        return
    path = tmp_path / "a.key"
    write_key(path, damaged(stored, how))
    with pytest.raises(KeyFileError, match="is damaged"):
        ig.load_key(path)


@pytest.mark.parametrize("name", ["tanh", "projection", "multiparty", "rotation unsearched"])
def test_equal_bytes_on_any_number_of_threads(name):
    wide = np.random.default_rng(2).random((130, 600))
    veil = clone(PERTURBATIONS[name][0]).set_params(bounds="scaled")
    keys, released = [], []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            keys.append(veil.fit(wide).key_file().arrays)
            released.append(veil.transform(wide))
    np.testing.assert_array_equal(*released)
    for array in keys[0]:
        np.testing.assert_array_equal(keys[0][array], keys[1][array])


def test_text_in_a_table_is_not_quoted():
    import pandas as pd

    frame = pd.DataFrame({"a": ["1", "Alice Secret"], "b": [1.0, 2.0]})
    with pytest.raises(ValueError, match="numbers only") as error:
        ig.Distortion().fit(frame)
    assert "Alice" not in "".join(traceback.format_exception(error.value))
