"""Audit of two files: match their columns and rows, then audit."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from isinglass.attack.knowledge import PublicParameters
from isinglass.attack.registry import ATTACKS, NEED_ROWS
from isinglass.auditing.attackers import attacker_for
from isinglass.auditing.audit import audit_arrays
from isinglass.auditing.files import align
from isinglass.auditing.files.align import Loaded, Rows
from isinglass.auditing.files.earlier_releases import earlier_releases
from isinglass.auditing.files.key_match import NOT, KeyFacts, match_beside, match_key
from isinglass.auditing.files.left_as_is import (
    combinations,
    largest_noise,
    silent_columns,
    values_left,
)
from isinglass.auditing.files.origin import (
    digits_line,
    kept_line,
    noise_line,
    order_line,
    origin_line,
    secret_line,
    together_lines,
    undone_by_seed,
)
from isinglass.auditing.files.persons import guess_persons, person_column, refuse_perturbed
from isinglass.auditing.files.provenance import (
    has_source_columns,
    keeps_rows,
    read_own_facts,
    rebuild_perturbation,
    refuse_other_width,
    stated_parameters,
    table_columns,
)
from isinglass.auditing.files.release_file import (
    ColumnsBeside,
    kept_names,
    load_release,
    open_release,
)
from isinglass.auditing.files.row_match import in_table_order, match_rows
from isinglass.auditing.files.table_text import refuse_as_it_was, refuse_dropped, with_numbers
from isinglass.auditing.findings import PARTLY_RECOVERED_GAIN, Findings, SkippedAttack
from isinglass.auditing.notes import AuditNote, Kind
from isinglass.auditing.report.report import Report
from isinglass.errors import AuditError
from isinglass.messages import spell
from isinglass.perturb.base import Perturbation
from isinglass.progress import Progress, quiet
from isinglass.release import Facts
from isinglass.table.columns import is_numeric
from isinglass.table.prepare import Source
from isinglass.table.read import open_table

if TYPE_CHECKING:
    from isinglass.auditing.policy import Policy
    from isinglass.table.number_format import NumberFormat


def audit_files(
    table: Any,
    release: str | Path,
    *,
    drop: Sequence[str] = (),
    one_hot: Sequence[str] = (),
    missing: str = "error",
    id_column: str | None = None,
    label: str | None = None,
    person: str | None = None,
    perturbation: Perturbation | None = None,
    key: KeyFacts | None = None,
    other_releases: Sequence[str | Path] = (),
    earlier: int | None = None,
    n_trials: int | None = None,
    n_outliers: int | None = None,
    most_pairs: int | None = None,
    policy: Policy | None = None,
    settings: Mapping[str, Any] | None = None,
    encoding: str = "utf8",
    delimiter: str | None = None,
    decimal: str | NumberFormat | None = None,
    random_state: int | None = None,
    progress: Progress = quiet,
) -> Report:
    """Attack a release on disk, whoever made it; both files are held in memory.

    A release of ours says itself which columns it kept, in which order its rows stand and what is
    public about its method. Of any other, all numeric columns count, and its rows are taken to
    stand in the table's order unless `id_column` names a column that is in both. Files of
    different length are audited as if every released row were anybody's.

    Parameters
    ----------
    table, release : path
        CSV, Parquet or Arrow files; the table may also be a frame or an array.
    drop, one_hot, missing
        As the release was made.
    id_column : str, optional
        A column of both files that tells which rows belong together.
    label : str, optional
        A column of the table with 1 for anomalies, else 0.
    person : str, optional
        A column of the table that says whose record a row is, and was dropped or kept. Without it
        a column that repeats as an identifier of persons does is tried.
    perturbation : Perturbation, optional
        Draws keys anew in the trials; a fitted one is also the key that may be stolen. Left out,
        and with `n_trials` above 1, a release of ours is made again from what it says of itself.
    key : KeyFacts, optional
        Undoes a shuffled order, and knows the columns.
    other_releases : paths
        Further releases of the same rows, attacked together with this one.
    earlier : int, optional
        How many other releases there are; by default one, where the release says that its rows
        had left before.
    """
    paths = [os.path.realpath(path) for path in (release, *other_releases)]
    if len(set(paths)) < len(paths):
        raise AuditError(f"each release counts once; {spell('other_releases')} names one again")
    opened = open_table(table, encoding=encoding, delimiter=delimiter, decimal=decimal)
    released = open_release(release, encoding, delimiter, opened.schema.names, decimal)
    facts = read_own_facts(release)
    if perturbation is not None and facts is not None and perturbation.method != facts.method:
        raise AuditError(
            f"the key is of the method {perturbation.method}, and {released.name} was made by "
            f"{facts.method}"
        )
    original = opened
    if person is not None and person not in (*drop, id_column, *kept_names(facts, released)):
        drop = [*drop, person]
    beside = [name for name in dict.fromkeys((id_column, label)) if name is not None]
    notes: list[AuditNote] = []
    if facts is None:
        from isinglass.auditing.files.hashes import without_hashes  # a release of ours has none

        refuse_dropped(drop, released)
        if key is None:
            opened = with_numbers(opened, {*drop, *one_hot, *beside}, notes)
        hashed = [n for n in opened.schema.names if n not in {*drop, *beside}]
        released = without_hashes(opened, released, hashed, beside, notes)
    # The table's own values of what was kept: what a public table would be joined by.
    kept_there = kept_names(facts, released)
    apart = [n for n in kept_there if n in opened.schema.names and n not in beside]
    apart = [n for n in apart if facts is not None or not is_numeric(opened.schema.field(n).type)]
    columns, told = table_columns(opened, facts, key, [*drop, *beside], one_hot, beside)
    notes += told
    columns = replace(columns, kept=(*columns.kept, *apart))
    categories = None if key is None or key.categories is None else dict(key.categories)
    source = Source(opened, columns, missing=missing, categories=categories)
    refuse_other_width(source, released, facts, perturbation)
    if encoded := [f"{source.names[j]} ({source.labels[j]})" for j in source.one_hot_positions()]:
        # A category is a value, so that only the owner may read it.
        notes.append(AuditNote(Kind.ENCODED_COLUMNS, {"columns": encoded}, public=False))

    mine = align.load(source, progress, "reading the table")
    theirs, names = load_release(
        released, facts, id_column, label, source.names, mine.beside.column_names, notes, progress
    )
    if missing == "drop" and len(theirs.X) > len(mine.X):
        # Rows that were left out here have left all the same.
        filled = Source(opened, columns, missing="median", categories=source.categories)
        mine = align.load(filled, progress, "reading the table")
        notes.append(AuditNote.of(Kind.FILLED_WITH_MEDIANS))
    elif opened.n_rows is not None and len(mine.X) < opened.n_rows:
        left = opened.n_rows - len(mine.X)
        notes.append(AuditNote.of(Kind.INCOMPLETE_ROWS, n=left))
    n_rows = len(mine.X)
    registered = earlier_releases(
        mine.X if isinstance(table, str | Path) else None, source.names, Path(release), facts
    )
    earlier = registered.n_others if earlier is None else earlier
    matched = match_rows(mine, theirs, facts, key, id_column, notes)
    mine, theirs, rows = matched.table, matched.release, matched.rows
    correspond, ordered = matched.correspond, matched.ordered
    if len(theirs.X) != len(mine.X) and hasattr(perturbation, "_key"):
        raise AuditError(
            f"{mine.name} has {len(mine.X):,} rows and {theirs.name} has {len(theirs.X):,}: the "
            "key turns every row of one into a row of the other; it is another table, or missing "
            "values were settled otherwise"
        )
    complete = len(mine.X) == n_rows
    made = NOT
    if perturbation is not None and hasattr(perturbation, "_key") and ordered:
        sure = facts is not None or bool(correspond)
        made = match_key(perturbation, mine, theirs, complete, sure=sure)
    attacked = {*columns.numeric, *columns.one_hot, *columns.kept}
    missed = [n for n in opened.schema.names if n not in attacked]
    known = {*apart, *beside, *(() if facts is None else facts.kept)}
    refuse_as_it_was(opened, released, mine, theirs, missed, known)
    stated = facts
    # Whatever the file says of its seed.
    if facts is not None and perturbation is None and correspond and ordered:
        undone = undone_by_seed(facts, source.names, mine.X, theirs.X)
        if undone is not None:
            theirs, stated = replace(theirs, X=undone), None
            notes.append(AuditNote.of(Kind.SEED_GUESSED))
    left_beside = ColumnsBeside()
    left_beside.add(theirs, mine, names)
    aligned = correspond is not False and ordered
    others = list(matched.others)
    other_parameters: list[PublicParameters | None] = [None] * len(others)
    together = [Path(path) for path in other_releases]
    for path in other_releases:
        other = _other(
            path,
            mine,
            rows,
            n_rows,
            aligned,
            id_column,
            label,
            source.names,
            notes,
            encoding,
            delimiter,
            decimal,
        )
        if other is None:
            notes.append(AuditNote.of(Kind.OTHER_RELEASE_UNMATCHED, file=Path(path).name))
            together.remove(Path(path))
            continue
        loaded, said, unchanged = other
        others.append(loaded.X)
        same = said is not None and has_source_columns(said, source.names)
        other_parameters.append(stated_parameters(said, source.names) if same else None)
        left_beside.add(loaded, mine, [n for n in unchanged if n not in left_beside.kept])
    kept, beyond = left_beside.known(mine.X, theirs.X), left_beside.tables()
    if kept is not None and (note := left_beside.note(kept)) is not None:
        notes.append(note)
    if beyond:
        notes.append(AuditNote.of(Kind.BESIDE_ATTACKED))
    if perturbation is None and stated is not None and n_trials is not None and n_trials > 1:
        perturbation = rebuild_perturbation(stated, source.names)
    elif perturbation is not None and perturbation.draws_noise and not complete:
        # Its noise goes by row number, and some rows are gone: only new keys can be tried.
        perturbation = clone(perturbation)
    whose, perhaps = None, None
    perturbed = (*columns.numeric, *columns.one_hot)
    if person is not None:
        refuse_perturbed(person, perturbed, original.schema.names)
        whose = person_column(original, person, mine)
    elif perturbation is not None or stated is not None:  # else no release is made alike
        unperturbed = [n for n in original.schema.names if n not in {*perturbed, label}]
        perhaps = guess_persons(original, unperturbed, mine)
    report = audit_arrays(
        mine.X,
        theirs.X,
        perturbation=perturbation,
        made_by=None
        if stated is None or perturbation is not None
        else rebuild_perturbation(stated, source.names),
        n_trials=n_trials,
        n_outliers=n_outliers,
        most_pairs=most_pairs,
        labels=None if label is None else align.as_labels(mine, label),
        column_names=list(source.names),
        parameters=stated_parameters(stated, source.names),
        kept=kept,
        table_kept=None if kept is None else left_beside.own(),
        other_releases=(*others, *beyond),
        other_parameters=(*other_parameters, *[None] * len(beyond)),
        rows_correspond=correspond,
        order_known=ordered,
        order_shows=matched.order_shows,
        id_released=id_column is not None,
        persons=None if whose is None else whose.codes,
        perhaps_persons=perhaps,
        policy=policy,
        settings={"table": _file(table), "release": Path(release).name, **(settings or {})},
        random_state=random_state,
        progress=progress,
    )
    for path in (unknown := registered.unknown(together)):
        notes.append(AuditNote.of(Kind.OTHER_RELEASE_UNKNOWN, file=path.name))
    lines = together_lines(len(together) - len(unknown), facts, earlier, notes)
    if policy is not None and policy.origin == "known":
        line = origin_line(facts, made=made, beside=match_beside(mine, theirs))
        lines += [] if line.met else [line]
    if policy is not None and policy.order == "secret":
        rowless = perturbation is not None and not perturbation.keeps_rows
        line = order_line(shows=matched.order_shows and not rowless)
        lines += [] if line.met else [line]
    unhidden = values_left(mine.X, theirs.X, perturbation, aligned=aligned)
    if kept is not None or id_column is not None or unhidden.shape[1]:
        n = len(theirs.X) if id_column is not None else combinations(kept, unhidden)
        line = kept_line(n, len(theirs.X), theirs.X.shape[1], largest_noise(mine.X, theirs.X))
        if not line.met:
            if kept is not None or id_column is not None:
                notes.append(AuditNote.of(Kind.KEPT_MANY, n=n, of=len(theirs.X)))
            lines += [line] if policy is not None and policy.kept == "few" else []
    if policy is not None and policy.noise == "drawn" and policy.limits_attacks:
        drawn = perturbation is not None and perturbation.draws_noise
        line = noise_line(draws_noise=drawn, silent=silent_columns(perturbation, mine.X))
        lines += [] if line.met else [line]
    if policy is not None and policy.noise == "drawn" and perturbation is not None:
        noisy = perturbation.draws_noise and perturbation.keeps_rows
        line = digits_line(rounded=not noisy or perturbation.rounds_noise)
        lines += [] if line.met else [line]
    seeded = (facts is not None and facts.seeded) or bool(getattr(perturbation, "seeded", False))
    lines += [line for line in (secret_line(seeded or stated is not facts),) if line is not None]
    found = report.findings
    if matched.unsure:
        found = without_pairs(found, policy)
    linkage = found.linkage
    if linkage is not None:  # the audit counts the rows it was given; the owner, those of the file
        worst = tuple((mine.number(row), level) for row, level in linkage.worst_records)
        linkage = replace(linkage, worst_records=worst)
    found = replace(
        found,
        linkage=linkage,
        notes=(*found.notes, *notes),
        policy=(*found.policy, *(lines if policy is not None else ())),
    )
    return replace(report, findings=found)


def _file(table: Any) -> str:
    return Path(table).name if isinstance(table, str | Path) else type(table).__name__


def _other(
    path: str | Path,
    mine: Loaded,
    rows: Rows,
    n_rows: int,
    aligned: bool,
    id_column: str | None,
    label: str | None,
    table_names: Sequence[str],
    notes: list[AuditNote],
    encoding: str,
    delimiter: str | None,
    decimal: str | NumberFormat | None,
) -> tuple[Loaded, Facts | None, tuple[str, ...]] | None:
    """A further release in the same order, its facts, its kept columns; None: order unknown."""
    facts = read_own_facts(path)
    opened = open_release(path, encoding, delimiter, table_names, decimal)
    perturbed = () if facts is None else facts.columns
    by_id = id_column if id_column in opened.schema.names and id_column not in perturbed else None
    if not aligned or (facts is not None and not keeps_rows(facts)):
        return None
    loaded, kept = load_release(
        opened, facts, by_id, label, table_names, mine.beside.column_names, notes, quiet
    )
    if by_id is not None:
        present, places = align.match(mine, loaded, by_id)
        if len(present) < len(mine.X):
            raise AuditError(
                f"{loaded.name} lacks {len(mine.X) - len(present):,} of the rows attacked; "
                "leave it out"
            )
        return loaded.take(places), facts, kept
    if len(loaded.X) != n_rows:
        raise AuditError(
            f"{loaded.name} has {len(loaded.X):,} rows and the table has {n_rows:,}, so they "
            "do not match by order; name a column that identifies rows in all files with "
            f"{spell('id_column')}"
        )
    if facts is not None and facts.order == "keyed":
        standing = in_table_order(mine.X, loaded.take(rows))  # its order is a claim
        return None if standing is None else (standing, facts, kept)
    return loaded.take(rows), facts, kept


def without_pairs(found: Findings, policy: Policy | None) -> Findings:
    """The same findings, in which attacks that were given pairs and got nothing are no comfort.

    They were run on rows as they stand, in case these are the table's after all. Where one of
    them got something they are.
    """
    with_rows = [a for a in found.attacks if a.name in NEED_ROWS and a.failed is None]
    if any(a.gain >= PARTLY_RECOVERED_GAIN for a in with_rows):
        return found
    listed = {s.name for s in found.skipped}
    names = [n for n in dict.fromkeys(a.name for a in with_rows) if n not in listed]
    why = AuditNote.of(Kind.PAIRS_CANNOT_BE_TOLD)
    missing = tuple(
        SkippedAttack(n, why, applicable=True, attacker=attacker_for(ATTACKS[n])) for n in names
    )
    found = replace(found, skipped=(*found.skipped, *missing))
    return found if policy is None else replace(found, policy=policy.check(found))
