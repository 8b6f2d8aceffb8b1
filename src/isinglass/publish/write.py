"""Writing of a release in two passes and bounded memory."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

import isinglass
from isinglass import chance
from isinglass.errors import PrivacyWarning, ReleaseError, TableError
from isinglass.files import OWNER_ONLY, Finishing, refuse_targets, sync, whole_file
from isinglass.messages import spell, warn
from isinglass.perturb.base import Perturbation
from isinglass.perturb.key import KeyFile, pack
from isinglass.perturb.scaled import ScaledPerturbation
from isinglass.progress import Progress, quiet
from isinglass.promise import Promise
from isinglass.publish.first_pass import (
    look_at,
    refuse_earlier,
    state_needs,
)
from isinglass.publish.notes import Concern, ReleaseNote, WarningNote, notes_on
from isinglass.publish.second_pass import Draft, write_rows
from isinglass.release import Facts
from isinglass.release_register import Register
from isinglass.table.columns import choose_columns
from isinglass.table.number_format import NumberFormat
from isinglass.table.prepare import Source
from isinglass.table.read import Table, open_table
from isinglass.table.reading import RememberedReading, TableReading
from isinglass.table.scale import bounds_for
from isinglass.table.survey import Survey

Array = NDArray[Any]
Bounds = Mapping[str, tuple[float, float]]
AnyNote = ReleaseNote | WarningNote


@dataclass(frozen=True, slots=True)
class Written:
    """What was written, and where."""

    release: Path
    key: Path
    method: str
    parameters: dict[str, Any]
    rows: int
    columns: int
    promise: Promise
    warnings: tuple[str, ...]
    public_file: Path | None = None


@dataclass(frozen=True, slots=True)
class Caller:
    """What a program around `write_release` knows of its own files and of its user.

    `home` is the folder of the owner's register; `reads` are other files the work was set up
    from, never to be written over; `writes` are files the program will write, by what they are,
    whose names no other file may take; `say` is called with a sentence about what the work needs
    before it starts; `check` may refuse the table. `label` and `person` are columns that an audit
    with the key will want.
    """

    home: str | Path | None = None
    reads: Sequence[str | Path | None] = ()
    writes: Mapping[str, Path] = field(default_factory=dict)
    say: Callable[[str], None] = lambda text: None
    check: Callable[[Table], None] = lambda table: None
    label: str | None = None
    person: str | None = None


def write_release(
    table: Any,
    out: str | Path,
    perturbation: Perturbation | None = None,
    *,
    key: str | Path | None = None,
    use_key: str | Path | None = None,
    passphrase: str | None = None,
    keep: Sequence[str] = (),
    drop: Sequence[str] = (),
    one_hot: Sequence[str] = (),
    bounds: Bounds | None = None,
    clip: bool = False,
    missing: str = "error",
    shuffle: bool = False,
    again: bool = False,
    force: bool = False,
    encoding: str = "utf8",
    delimiter: str | None = None,
    decimal: str | NumberFormat | None = None,
    gate: Callable[[Draft], None] | None = None,
    progress: Progress | None = None,
    caller: Caller | None = None,
) -> Written:
    """Perturb a table and write its release and key; two passes, in bounded memory.

    Guarantee: none about the records; the release is heuristic until audited. What holds is the
    order of events: the key and the register entry are on disk before the release gets its name,
    and a failure leaves no file behind, at most that entry.

    Parameters
    ----------
    table : path, frame or array
        CSV, Parquet or Arrow file, or a table in memory. It is read twice.
    out : path
        The release, a Parquet file. Written beside its target, synced and renamed.
    perturbation : Perturbation
        What to perturb with; a copy is fitted, so `load_key` gives the fitted one. Leave out with
        `use_key`.
    key : path, optional
        Where the new key goes; by default `out` with the ending `.key`.
    use_key : path, optional
        Perturb with a key that exists, to add rows to an earlier release. Refused where noise is
        drawn (two tables under one pad subtract out) and where its bounds were learned.
    passphrase : str, optional
        Locks the new key, or opens the one used.
    keep, drop, one_hot : column names
        Passed on untouched (disclosed!), left out, or encoded as 0/1 columns.
    bounds : mapping, optional
        Public (low, high) for every perturbed column; learned from the table when left out.
    clip : bool
        Move values outside the declared bounds to the nearest bound.
    missing : {"error", "drop", "median"}
    shuffle : bool
        Write the rows in a secret order that the key can undo.
    again : bool
        Release although the register says that these rows have left before.
    force : bool
        Replace an existing release or key.
    encoding, delimiter : str
        Of a CSV file.
    decimal : {".", ","}, optional
        The decimal mark of numbers in columns of text, such as "1.234,50" or "€ 1,234.50"; such
        columns are text without it.
    gate : callable, optional
        Called with the complete `Draft` before anything has a name or is in the register; what
        it raises refuses the release, and no file, key or entry is left behind.
    progress : callable, optional
        Called as `progress(stage, rows done, rows in all or None)`.
    caller : Caller, optional
        For programs that call this for their user. The owner's register of releases is in the
        folder `ISINGLASS_HOME`, or in the user's own data folder.

    Examples
    --------
    >>> import isinglass as ig
    >>> table = [[1.0, 2.0], [3.0, 5.0], [4.0, 1.0]]
    >>> written = ig.write_release(table, "a.parquet", ig.Rotation())  # doctest: +SKIP
    >>> ig.Release.read(written.release).facts.method  # doctest: +SKIP
    'rotation'
    """
    caller = Caller() if caller is None else caller
    out = Path(out)
    if (perturbation is None) == (use_key is None):
        raise ReleaseError("give either a perturbation to draw a new key for, or a key to use")
    if shuffle and use_key is not None:
        raise ReleaseError(
            f"a shuffled release needs a key of its own; leave {spell('use_key')} out"
        )
    key_path = Path(use_key or key or out.with_suffix(".key"))
    public_path = key_path.with_suffix(".matrix.json")
    targets = {"the release": out, **caller.writes}
    if use_key is None:
        targets["its key"] = key_path
        if perturbation is not None and perturbation.makes_public_file:
            targets["its public matrix"] = public_path
    refuse_targets(targets, [table, use_key, *caller.reads], force=force)

    opened = open_table(table, encoding=encoding, delimiter=delimiter, decimal=decimal)
    caller.check(opened)
    columns = choose_columns(opened, keep=keep, drop=drop, one_hot=one_hot)
    stored: KeyFile | None = None
    notes: list[AnyNote] = []
    if use_key is not None:
        with _noting(notes):
            from isinglass.publish.key_reuse import reuse_key

            perturbation, stored = reuse_key(Path(use_key), passphrase, opened, columns, bounds)
    else:
        assert perturbation is not None
        # The caller's own stays as it is; a generator is handed on, so that it moves on.
        perturbation = clone(perturbation).set_params(random_state=perturbation.random_state)
    if columns.kept and not perturbation.keeps_rows:
        raise ReleaseError(
            f"{perturbation.method} makes new records, so no column can be kept beside them; "
            f"leave them out with {spell('drop')}"
        )
    categories = None if stored is None else stored.facts.get("categories", {})
    source = Source(opened, columns, missing=missing, categories=categories)
    _settle_bounds(perturbation, source, bounds if stored is None else None, clip)

    tell = progress or quiet
    register = Register(caller.home)
    advice = "widen the bounds" if stored is None else "the key fixes the bounds: make a new one"
    advice += f", or pass {spell('clip', True)}"
    look = look_at(source, perturbation, register, tell, advice=advice)
    earlier = refuse_earlier(source, look, register, again=again)
    notes += notes_on(look, source, again=earlier > 0, shuffle=shuffle)
    if isinstance(table, str | Path) and register.was_counted(table):
        notes.append(ReleaseNote(Concern.COUNTED))
    whole = None
    if stored is None:
        state_needs(perturbation, look.survey, caller.say)
        whole = _fit(perturbation, source, look.survey, notes, tell)
    if perturbation.seeded:
        notes.append(ReleaseNote(Concern.SEEDED))

    read_as = RememberedReading(
        TableReading(encoding, delimiter, decimal, missing), caller.label, caller.person
    )
    shuffle_key = chance.stream_key(chance.generator()) if shuffle else None
    facts = _facts(perturbation, source, look.survey.n_rows, notes, shuffle, earlier > 0)
    public = perturbation.public_file() if stored is None else None
    named: list[Path] = []
    with Finishing() as finishing:
        try:
            with whole_file(out, force=force) as release_file:
                write_rows(
                    perturbation, source, look, whole, release_file, shuffle_key, facts, tell
                )
                filed = (
                    None
                    if stored
                    else pack(_filed(perturbation, source, shuffle_key, read_as), passphrase)
                )
                sync(release_file)
                if gate is not None:
                    gate(Draft.of(source, release_file, perturbation, shuffle_key, earlier))
                finishing.begin()
                register.add(
                    look.fingerprint, release=out.name, method=perturbation.method, again=again,
                    digest=register.file_digest(release_file),
                )  # fmt: skip
                if public is not None:
                    with whole_file(public_path, force=force) as file:
                        file.write_text(public, encoding="utf-8")
                    named.append(public_path)
                if filed is not None:
                    with whole_file(key_path, mode=OWNER_ONLY, force=force) as file:
                        file.write_bytes(filed)
                        sync(file)
                        if force:  # killed from here on: no release, never one beside a new key
                            out.unlink(missing_ok=True)
                    named.append(key_path)
        except BaseException:
            # A new key without its release is of no use, and must not be taken for another's.
            for path in named if not force else []:
                path.unlink(missing_ok=True)
            raise
    for note in notes:
        warn(PrivacyWarning(note.owner, public=note.public))
    return Written(
        release=out,
        key=key_path,
        method=perturbation.method,
        parameters=facts.parameters,
        rows=facts.rows,
        columns=len(facts.columns),
        promise=perturbation.promise,
        warnings=tuple(n.owner for n in notes),
        public_file=None if public is None else public_path,
    )


def _settle_bounds(
    perturbation: Perturbation, source: Source, bounds: Bounds | None, clip: bool
) -> None:
    if not isinstance(perturbation, ScaledPerturbation):
        if bounds is not None or clip:
            raise ReleaseError(
                f"{perturbation.method} does not scale columns; leave {spell('bounds')} and "
                f"{spell('clip')} out"
            )
        return
    perturbation.clip = perturbation.clip or clip
    if bounds is not None:
        low, high = bounds_for(source.columns.numeric, bounds)
        encoded = len(source.one_hot_positions())
        perturbation.bounds = (
            [*low.tolist(), *[0.0] * encoded],
            [*high.tolist(), *[1.0] * encoded],
        )


@contextlib.contextmanager
def _noting(notes: list[AnyNote]) -> Iterator[None]:
    """Turn privacy warnings into notes; pass other warnings on."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        if isinstance(warning.message, PrivacyWarning):
            notes.append(WarningNote.of(warning.message))
        else:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )


def _fit(
    perturbation: Perturbation, source: Source, facts: Survey, notes: list[AnyNote], tell: Progress
) -> Array | None:
    """Draw the key; gives the whole release back where a method cannot work row by row."""
    whole = None
    with _noting(notes):
        if perturbation.needs_table:
            X = np.empty((facts.n_rows, facts.n_columns), dtype=source.dtype, order="F")
            done = 0
            for block in source.blocks():
                X[done : done + len(block.X)] = block.X
                done += len(block.X)
                tell("gathering", done, facts.n_rows)
            tell("searching", 0, None)
            if perturbation.keeps_rows:  # row by row then, with the columns that are kept beside
                perturbation.fit(X)
            else:
                whole = perturbation.fit_transform(X)
        else:
            perturbation.fit_survey(facts)
    return whole


def _filed(
    perturbation: Perturbation,
    source: Source,
    shuffle_key: NDArray[np.uint64] | None,
    read_as: RememberedReading,
) -> KeyFile:
    """The key with what a later use of it must know about the columns."""
    filed = perturbation.key_file()
    filed.facts["columns"] = list(source.columns.numeric)
    filed.facts["one_hot"] = list(source.columns.one_hot)
    filed.facts["categories"] = source.categories
    if remembered := read_as.to_json():
        filed.facts["reading"] = remembered
    if shuffle_key is not None:
        filed.arrays["shuffle"] = shuffle_key
    return filed


def _facts(
    perturbation: Perturbation,
    source: Source,
    rows: int,
    notes: list[AnyNote],
    shuffle: bool,
    again: bool,
) -> Facts:
    if perturbation.keeps_columns:
        columns = source.names
    else:
        columns = [f"z{i}" for i in range(perturbation.n_features_out)]
    names = [*columns, *source.columns.kept]
    clash = (
        sorted({name for name in names if names.count(name) > 1})
        if len(set(names)) < len(names)
        else []
    )
    if clash:
        raise TableError(
            f"more than one released column would be named {', '.join(clash)}; rename them"
        )
    bounds = None
    if isinstance(perturbation, ScaledPerturbation):
        declared = perturbation.declared_bounds()
        if declared is not None:
            bounds = {n: (lo, hi) for n, lo, hi in zip(source.names, *declared, strict=True)}
    return Facts(
        method=perturbation.method,
        parameters=perturbation.public_parameters(),
        version=isinglass.__version__,
        rows=rows,
        columns=tuple(columns),
        kept=source.columns.kept,
        warnings=tuple(n.public for n in notes if n.public),
        seeded=perturbation.seeded,
        again=again,
        order="keyed" if shuffle else "table",
        bounds=bounds,
        promise=perturbation.promise,
    )
