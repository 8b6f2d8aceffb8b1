"""Files that say impossible things: one sentence, exit 2, and neither time nor memory."""

import copy
import json
import os
import signal
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import load, save
from tests.cli.commands import inside as run

from isinglass.auditing.files import audit_files as files
from isinglass.auditing.files.provenance import read_own_facts
from isinglass.auditing.policy import Policy
from isinglass.auditing.tuning.checkpoint import Book
from isinglass.auditing.tuning.evaluation import Measurement
from isinglass.curate.space import Space
from isinglass.errors import AuditError, IsinglassError
from isinglass.perturb.public_matrix import PublicMatrix
from isinglass.perturb.registry import load_key
from isinglass.table.scale import read_bounds

TABLE = np.random.default_rng(0).normal(size=(60, 3))
DEEP, LONG = "a deep one", "a long one"
#: What may stand where a number, a name or a list is expected.
BAD = [
    10**8, 10**19, -1, 0, 1.5, 1e308, "x", "x" * 200_000, "", [], [1, "a", None], {},
    {"a": {"b": 1}}, None, True, float("nan"), float("inf"), DEEP, LONG,
]  # fmt: skip
METHODS = ("tanh", "adaptive", "multiparty")


def text_of(document):
    text = json.dumps(document)
    text = text.replace(json.dumps(DEEP), "[" * 20_000 + "]" * 20_000)
    return text.replace(json.dumps(LONG), "1" + "0" * 5000)


def places(document, before=()):
    """Every place in a document, and the whole of it; of lists only the first item."""
    yield before
    inside = document.items() if isinstance(document, dict) else ()
    if isinstance(document, list):
        inside = enumerate(document[:1])
    for name, value in inside:
        yield from places(value, (*before, name))


def mutated(document):
    """The document with one value replaced, or missing, in every way."""
    for place in places(document):
        for bad in BAD:
            if not place:
                yield place, bad, text_of(bad)
                continue
            changed = copy.deepcopy(document)
            at = changed
            for name in place[:-1]:
                at = at[name]
            at[place[-1]] = bad
            yield place, bad, text_of(changed)
            del at[place[-1]]
            yield place, "missing", text_of(changed)


def read_all(document, write, read):
    """Read every mutation; each is read, or refused in one sentence, at once."""
    outcomes = {True: 0, False: 0}
    for place, bad, text in mutated(document):
        write(text)
        begin = time.process_time()
        try:
            read()
        except IsinglassError as error:
            said = str(error)
            assert len(said) < 600, (place, said)
            outcomes[False] += 1
        except Exception as error:
            pytest.fail(f"{place} as {str(bad)[:40]!r} gives {error!r}")
        else:
            outcomes[True] += 1
        assert time.process_time() - begin < 2, (place, str(bad)[:40])
    assert outcomes[False] > len(list(places(document)))
    return outcomes


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table, a release and a key of several methods, and one of every other file."""
    where = tmp_path_factory.mktemp("files")
    patch = pytest.MonkeyPatch()
    patch.chdir(where)
    patch.setenv("ISINGLASS_HOME", str(where / "home"))
    patch.setattr(warnings, "showwarning", warnings.showwarning)
    patch.setattr(signal, "signal", lambda number, handler: signal.SIG_DFL)
    for name, rows in (("t.csv", TABLE), ("q.csv", TABLE[:2] + 0.1)):
        Path(name).write_text(
            "a,b,c\n" + "".join(",".join(map(str, r)) + "\n" for r in rows.tolist())
        )
    for method in METHODS:
        settings = ["--set", "alpha=0.1"] if method == "multiparty" else []
        assert run("release", "t.csv", "-o", f"{method}.parquet", "--method", method, "--again",
                   *settings)[0] == 0  # fmt: skip
    space = Space.fitted(TABLE, public=True, columns=["a", "b", "c"], scale="range", n_components=2)
    space.save("space.json")
    yield where
    patch.undo()


def metadata_of(method):
    return json.loads(pq.read_metadata(f"{method}.parquet").metadata[b"isinglass"])


@pytest.mark.parametrize("method", METHODS)
def test_what_a_release_says_of_itself_is_read_or_refused(folder, method):
    table = pq.read_table(f"{method}.parquet")
    facts = metadata_of(method)
    facts["bounds"] = {"a": [-9, 9]}

    def write(text):
        pq.write_table(table.replace_schema_metadata({b"isinglass": text.encode()}), "f.parquet")

    read_all(facts, write, lambda: read_own_facts("f.parquet"))


@pytest.mark.parametrize("method", METHODS)
def test_what_a_key_says_is_read_or_refused(folder, method):
    data = Path(f"{method}.key").read_bytes()
    size = int.from_bytes(data[:8], "little")
    header, arrays = json.loads(data[8 : 8 + size])["__metadata__"], load(data)

    def write(text):
        Path("f.key").write_bytes(save(arrays, metadata={**header, "facts": text}))
        os.chmod("f.key", 0o600)

    read_all(json.loads(header["facts"]), write, lambda: load_key("f.key"))


def test_a_space_is_read_or_refused(folder):
    document = json.loads(Path("space.json").read_text())
    read_all(document, Path("f.json").write_text, lambda: Space.load("f.json"))


def test_a_public_matrix_is_read_or_refused(folder):
    document = json.loads(Path("multiparty.matrix.json").read_text())
    read_all(document, Path("f.json").write_text, lambda: PublicMatrix.load("f.json"))


def test_bounds_are_read_or_refused(folder):
    read_all({"a": [0, 1], "b": [0, 2]}, Path("f.json").write_text, lambda: read_bounds("f.json"))


@pytest.mark.parametrize("line", [0, 1])
def test_a_search_s_checkpoint_is_read_or_refused(folder, line):
    Path("book.jsonl").unlink(missing_ok=True)
    made = Book.open("book.jsonl", TABLE, {}, 1)
    made.entries["x"] = Measurement(0.9, 6, 0.2, 0.1, 0.3, "naive")
    made._write(json.dumps({"of": "x", "found": {
        "detection": 0.9, "n_outliers": 6, "gain": 0.2, "gain_low": 0.1, "gain_high": 0.3,
        "strongest": "naive"}}))  # fmt: skip
    lines = Path("book.jsonl").read_text().splitlines()

    def write(text):
        Path("f.jsonl").write_text("\n".join([*lines[:line], text, *lines[line + 1 :]]) + "\n")

    def read():
        found = Book.open("f.jsonl", TABLE, {}, None).entries
        for entry in found.values():
            assert entry.n_outliers >= 0
            assert abs(entry.gain_high) <= 10

    read_all(json.loads(lines[line]), write, read)


@pytest.mark.parametrize(
    "value",
    ["1" + "0" * 500, "9" * 30, "-1", "nan", "inf", "'x'", "[]", "[1]", "{a=1}", "true", "1e999",
     "1979-05-27", "'" + "x" * 70_000 + "'", "[" * 9000 + "]" * 9000],
)  # fmt: skip
@pytest.mark.parametrize("field", ["detection.minimum", "attacks.maximum", "linkage.quantile"])
def test_a_policy_is_read_or_refused(folder, field, value):
    section, name = field.split(".")
    Path("f.toml").write_text(f"[{section}]\n{name} = {value}\n")
    begin = time.process_time()
    with pytest.raises(AuditError):
        Policy.load("f.toml")
    assert time.process_time() - begin < 2


def test_what_a_file_states_is_told_as_typed(folder, monkeypatch):
    def reached(*given, **more):
        raise AuditError("the audit was reached")

    monkeypatch.setattr(files, "audit_arrays", reached)
    table = pq.read_table("adaptive.parquet")
    facts = metadata_of("adaptive")
    asked = "ask t.csv q.csv --beta 3 --r 1 --epsilon 0.1 --budget 1 --ledger l.db --dry-run"
    asked = (*asked.split(), "--space", "f.json")
    for value in (10**8, -1, "many", DEEP, LONG):
        facts["parameters"]["n_draws"] = value
        pq.write_table(table.replace_schema_metadata({b"isinglass": text_of(facts)}), "f.parquet")
        Path("f.json").write_text(text_of({"columns": value}))
        for command in (("audit", "t.csv", "f.parquet"), asked):
            code, out, err = run(*command)
            assert (code, out, err.count("\n")) == (2, "", 1), (command, err)
            assert err.startswith("isinglass: ")
            assert "unforeseen" not in err
            assert "reached" not in err


def test_a_metadata_field_costs_nothing(folder):
    """`n_draws` of 10^8 took 15 s and gigabytes before the audit began."""
    table = pq.read_table("adaptive.parquet")
    facts = metadata_of("adaptive")
    facts["parameters"]["n_draws"] = 10**8
    pq.write_table(table.replace_schema_metadata({b"isinglass": text_of(facts)}), "f.parquet")
    begin = time.process_time()
    code, _, err = run("audit", "t.csv", "f.parquet")
    assert (code, "n_draws must be a whole number >= 0 and <= 2000" in err) == (2, True)
    assert time.process_time() - begin < 2
