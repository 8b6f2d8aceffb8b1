"""Makes the files under `tests/compat/files`: python -m tests.compat.make FOLDER.

It was run once, before the rooms were put in order. It is kept to show how the files were made, and
to make others where a new kind of file is added. Never run it over the files that are committed:
that these go on opening is what the tests beside it are about.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from tests.cli.commands import inside
from tests.compat import recipe
from tests.compat.policies import POLICIES

import isinglass as ig
from isinglass.method_names import METHODS
from isinglass.perturb.registry import class_named

#: What a method must be told.
SETTINGS = {"multiparty": ["--set", "alpha=0.1"]}


def make(folder: Path) -> None:
    """Write all files and what is known about them."""
    folder.mkdir(parents=True)
    tables(folder)
    expected = {
        "releases": releases(folder),
        "locked": locked(folder),
        "shuffled": shuffled(folder),
        "matrix": matrix(folder),
        "register": register(folder),
        "space": space(folder),
        "ledger": ledgers(folder),
        "tune": tune(folder),
        "policies": policies(folder),
        "model": model(folder),
        "report": report(folder),
    }
    text = json.dumps(expected, indent=1, ensure_ascii=False)
    (folder / "expected.json").write_text(text + "\n", encoding="utf-8")


@contextlib.contextmanager
def home() -> Iterator[Path]:
    """An owner's home that knows of no release."""
    before = os.environ.get("ISINGLASS_HOME")
    with tempfile.TemporaryDirectory() as name:
        os.environ["ISINGLASS_HOME"] = name
        try:
            yield Path(name)
        finally:
            os.environ.pop("ISINGLASS_HOME")
            if before is not None:
                os.environ["ISINGLASS_HOME"] = before


def typed(folder: Path, *words: object) -> dict[str, Any]:
    """What a command says in JSON."""
    done = inside(*words, "--json", cwd=folder)
    if done.returncode:
        raise SystemExit(done.stderr)
    return dict(recipe.without_prose(json.loads(done.stdout)))


def tables(folder: Path) -> None:
    """The table, public records of the same kind, and records to ask about."""
    rng = np.random.default_rng(16)
    mixed = rng.normal(size=(2, 4))

    def numbers(n: int) -> np.ndarray:
        return (20 + rng.normal(size=(n, 2)) @ mixed + 0.3 * rng.normal(size=(n, 4))).round(3)

    table, public = numbers(60), numbers(80)
    table[[5, 40]] += [[9, -7, 8, 6], [-8, 6, 9, -9]]
    sites = np.array(["north", "south", "west"])
    for name, rows in (("table.csv", table), ("public.csv", public), ("earlier.csv", table[:-1])):
        ids = 1000 + np.arange(len(rows))
        lines = [
            f"{number},{site},{','.join(map(repr, row))}"
            for number, site, row in zip(ids, sites[ids % 7 % 3], rows.tolist(), strict=True)
        ]
        _write(folder / name, ["id,site,weight,length,width,pulse", *lines])
    records = [[20, 20, 20, 20], [60, -20, 55, 48], [-15, 50, 60, -25]]
    lines = [",".join(map(str, row)) for row in records]
    _write(folder / "records.csv", ["weight,length,width,pulse", *lines])
    _write(folder / "bounds.csv", [f"{c},-50,90" for c in ("weight", "length", "width", "pulse")])


def _write(path: Path, lines: list[str]) -> None:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def facts(release: Path) -> dict[str, Any]:
    """What a release says about itself, and a digest of its numbers."""
    read = ig.Release.read(release)
    said = json.loads(json.dumps(read.facts.to_json()))
    return {"facts": said, "sha256": hashlib.sha256(read.to_numpy().tobytes()).hexdigest()}


def releases(folder: Path) -> dict[str, Any]:
    """A release and a key of each method."""
    (folder / "releases").mkdir()
    found = {}
    for method in METHODS:
        out = Path("releases", f"{method}.parquet")
        with home():
            typed(folder, *recipe.RELEASE, "-o", out, "--method", method, *SETTINGS.get(method, []))
        found[method] = facts(folder / out)
    return found


def locked(folder: Path) -> dict[str, Any]:
    """A release and a locked key of each class."""
    (folder / "locked").mkdir()
    _write(folder / "passphrase", [recipe.PASSPHRASE])
    found = {}
    for method in {class_named(method): method for method in METHODS}.values():
        out = Path("locked", f"{method}.parquet")
        how = ["--method", method, *SETTINGS.get(method, []), "--passphrase-file", "passphrase"]
        if method == "multiparty":  # with a matrix that is there: of another release
            how += ["--public-matrix", "releases/multiparty.matrix.json"]
        with home():
            typed(folder, *recipe.RELEASE, "-o", out, *how)
        found[method] = facts(folder / out)
    (folder / "passphrase").unlink()
    return found


def shuffled(folder: Path) -> dict[str, Any]:
    """A release in a secret order with a kept column, 0/1 columns and declared bounds."""
    with home():
        typed(folder, *recipe.SHUFFLED)
    return facts(folder / "shuffled.parquet")


def matrix(folder: Path) -> list[list[float]]:
    """The public matrix that was written beside the release of a study of one."""
    found = ig.PublicMatrix.load(folder / "releases" / "multiparty.matrix.json").matrix
    return [list(map(float, row)) for row in found]


def register(folder: Path) -> dict[str, Any]:
    """An owner's home after one release."""
    with home() as own, tempfile.TemporaryDirectory() as aside:
        out = Path(aside, "left.parquet")
        typed(folder, *recipe.RELEASE, "-o", out, "--method", "rotation")
        (folder / "register").mkdir()
        names = sorted(os.listdir(own))
        for name in names:
            (folder / "register" / name).write_bytes((own / name).read_bytes())
        (line,) = (own / "releases.jsonl").read_text().splitlines()
    return {"files": names} | {n: json.loads(line)[n] for n in ("when", "release", "method")}


def space(folder: Path) -> dict[str, Any]:
    """A space planned on public records."""
    plan = typed(
        folder, "plan", "public.csv", "--drop", "id,site", "--outlier-fraction", "0.1",
        "--scale-by", "percentiles", "--components", 3, "--space", "space.json",
    )  # fmt: skip
    table = recipe.numbers(folder)
    places = ig.Space.load(folder / "space.json").places(table[:3])
    return {"beta": plan["beta"], "r": plan["r"], "places": places.tolist()}


def ledgers(folder: Path) -> dict[str, Any]:
    """The same questions to a ledger in a file and to one in PostgreSQL, then its dump."""
    from tests.curate import postgres

    (folder / "ledger").mkdir()
    found = {"sqlite": filled(folder, "ledger/sqlite.db", "sqlite")}
    with postgres.running() as server:
        url = recipe.with_schema(server.url, create=True)
        found["postgresql"] = filled(folder, url, "postgresql")
        (folder / "ledger" / "postgresql.sql").write_bytes(recipe.dumped(server.url))
    return found


def filled(folder: Path, where: str, name: str) -> dict[str, Any]:
    """A ledger with every kind of entry, and what it says at the end."""
    held = recipe.held(name)

    def ask(*more: object, table: str = "table.csv") -> dict[str, Any]:
        return typed(folder, *recipe.asked(table, where, held), *more)

    def ledger(*words: object) -> dict[str, Any]:
        return typed(folder, "ledger", *words, *held)

    with home():
        ask("--budget", "2", "--user-budget", "1", table="earlier.csv")
        ask("--new-version", "a record was added", "--request-id", "monday")
        # No command pays everywhere: `choose_r_privately` does, as here.
        with (
            ig.Ledger(
                where if "://" in where else folder / where,
                secret=folder / held[1], note=folder / held[3],
            ) as opened,
            ig.Curator(
                recipe.numbers(folder), 3, 0.4, ledger=opened, pad=False,
                space=ig.Space.load(folder / "space.json"),
            ),
        ):  # fmt: skip
            opened.charge_everywhere(50_000, "a count of all rows")
        ledger("admit", where, "analyst", "--user-budget", "0.3", "--reason", "a study")
        ledger("amend", where, "--budget", "3", "--records-per-person", 2, "--reason", "agreed")
        ask("--user", "analyst")
        ask("--fresh")
        again = {who: ask("--user", who) for who in ("curator", "analyst")}
        monday = ask("--request-id", "monday")
        prices = typed(folder, *recipe.asked("table.csv", where, held), "--dry-run", "--fresh")
        shown, verified = ledger("show", where), ledger("verify", where)
    shown.pop("ledger")  # where it lay
    return {
        "again": again, "monday": monday, "prices": prices, "show": shown, "verify": verified,
    }  # fmt: skip


def tune(folder: Path) -> dict[str, Any]:
    """A search that was finished, and its file."""
    told = typed(folder, *recipe.TUNE)
    return {name: told[name] for name in ("points", "recommended")}


def policies(folder: Path) -> dict[str, Any]:
    """Policy files and what they demand."""
    (folder / "policies").mkdir()
    for name, text in POLICIES.items():
        (folder / "policies" / name).write_text(text, encoding="utf-8")
    return {name: recipe.demands(folder / "policies" / name) for name in POLICIES}


def model(folder: Path) -> dict[str, Any]:
    """An exported autoencoder and its scores."""
    table = recipe.numbers(folder)
    found = ig.Autoencoder(2, max_epochs=40, random_state=1).fit(table)
    found.export(folder / "model.onnx")
    scores = found.anomaly_score(table)
    return {
        "threshold": found.threshold_,
        "scores": scores.tolist(),
        "outliers": np.flatnonzero(scores > found.threshold_).tolist(),
    }


def report(folder: Path) -> dict[str, Any]:
    """An audit's report, and what the command prints of it."""
    return typed(folder, *recipe.AUDIT, "-o", "report.json")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("python -m tests.compat.make FOLDER")
    make(Path(sys.argv[1]))
