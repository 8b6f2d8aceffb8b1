"""`isinglass audit`: attack a release and look for its outliers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isinglass.cli import options, show

if TYPE_CHECKING:
    from isinglass.auditing.files.key_match import KeyFacts
    from isinglass.auditing.findings import AttackResult, Findings
    from isinglass.auditing.report.report import Report
    from isinglass.perturb.base import Perturbation


def audit(
    table: Path = typer.Argument(
        ..., metavar="TABLE", help="The original: CSV, Parquet or Arrow file with a header."
    ),
    release: Path = typer.Argument(
        ...,
        metavar="RELEASE",
        help="What left, or is to leave; ours or anybody's, same kinds; or an Autoencoder's ONNX "
        "file.",
    ),
    out: Annotated[
        Path | None, options.out("Write the whole report to this .html or .json file.")
    ] = None,
    key: Path | None = typer.Option(
        None, "--key", help="The release's key: undoes --shuffle, draws further keys, is stolen."
    ),
    passphrase_file: options.PassphraseFile = None,
    id_column: str | None = typer.Option(
        None, "--id", metavar="COL", help="A column of both that tells which rows belong together."
    ),
    label: options.Label = None,
    person: options.Person = None,
    drop: options.Drop = [],
    one_hot: options.OneHot = [],
    columns: options.Columns = None,
    missing: options.Missing = None,
    also: options.Also = [],
    others: Path | None = typer.Option(
        None,
        "--others",
        metavar="FILE",
        help="For a model: a table of records that it was not trained on.",
    ),
    policy: options.Policy = None,
    public: bool = typer.Option(
        False, "--public", help="Leave out of OUT whatever is about single records."
    ),
    trials: int | None = typer.Option(
        None,
        "--trials",
        help="Keys to try, this one included; default: 4 with --key, else 1.",
    ),
    n_outliers: int | None = typer.Option(
        None, "-n", "--n-outliers", help="How many outliers to look for again; default: 500."
    ),
    max_pairs: options.MaxPairs = None,
    seed: options.Seed[int | None] = None,
    force: options.Force = False,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = None,
    as_json: options.AsJson = False,
) -> None:
    """Attack RELEASE with the classic attacks, and look for TABLE's outliers in it.

    Of a model, measure whether TABLE's records can be told to be those it was trained on. Nothing
    is sent anywhere. Examples:

    isinglass audit flights.csv flights.parquet --drop tail_number -o report.html

    isinglass audit flights.csv detector.onnx --drop tail_number --others other_flights.csv
    """
    import warnings

    from isinglass.cli.columns import choose, known_to_key
    from isinglass.cli.options import passphrase
    from isinglass.errors import AuditError, PrivacyWarning
    from isinglass.files import refuse_targets

    for option, value in (("--trials", trials), ("-n", n_outliers)):
        if value is not None and value < 1:
            raise ValueError(f"{option} must be >= 1, got {value}")
    if max_pairs is not None and max_pairs < 0:
        raise ValueError(f"--max-pairs must be >= 0, got {max_pairs}")
    if seed is not None and seed < 0:
        raise ValueError(f"--seed must be >= 0, got {seed}")
    if public and out is None:
        raise AuditError("--public is about the report; name its file with -o")
    if out is not None:
        from isinglass.cli.gate import check_ending, policy_file  # shared with `release`

        check_ending("-o", out)
        read = [table, release, key, passphrase_file, others, columns, policy_file(policy), *also]
        refuse_targets({"the report": out}, read, force=force)
    demands = None
    if policy is not None:
        from isinglass.cli.gate import policy_for

        demands = policy_for(policy)
    perturbation, facts = None, None
    if not _is_model(release):
        perturbation, facts = _opened(key, passphrase(False, passphrase_file, new=False))
    chosen = choose(
        columns, table, drop=drop, one_hot=one_hot, label=label, person=person, encoding=encoding,
        delimiter=delimiter, decimal=decimal, missing=missing,
    )  # fmt: skip
    if facts is not None:
        typed = {"encoding": encoding, "delimiter": delimiter, "decimal": decimal,
                 "missing": missing}  # fmt: skip
        chosen = known_to_key(chosen, facts.read_as, table, typed)
    reading = chosen.reading
    if _is_model(release):
        # What reads models is large, and no release needs it.
        from isinglass.cli.audit_model import audit_model, refuse_release_options

        refuse_release_options(
            {"--key": key, "--passphrase-file": passphrase_file, "--id": id_column,
             "--also": also or None, "--trials": trials, "--n-outliers": n_outliers,
             "--max-pairs": max_pairs, "--person": person}
        )  # fmt: skip
        audit_model(
            table,
            release,
            others=others,
            drop=[*chosen.drop, *(n for n in (chosen.label, chosen.person) if n is not None)],
            one_hot=chosen.one_hot,
            missing=reading.missing,
            policy=demands,
            out=out,
            public=public,
            reading=reading.file,
            seed=seed,
            as_json=as_json,
        )
        return
    if others is not None:
        raise AuditError("--others is for models; RELEASE is not an ONNX file")
    from isinglass.auditing.files.audit_files import (
        audit_files,  # slow to load, so errors come first
    )
    from isinglass.auditing.report.sentences import sentences

    with show.Bar() as bar, warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)  # keys drawn for a trial go nowhere
        report = audit_files(
            table,
            release,
            drop=chosen.drop,
            one_hot=chosen.one_hot,
            missing=reading.missing,
            id_column=id_column,
            label=chosen.label,
            person=chosen.person,
            perturbation=perturbation,
            key=facts,
            other_releases=also,
            n_trials=trials,
            n_outliers=n_outliers,
            most_pairs=max_pairs,
            policy=demands,
            settings={"command": show.command_line()},
            **reading.file,
            random_state=seed,
            progress=bar,
        )
    if out is not None:
        report.save(out, public=public)
    if as_json:
        show.print_json(report.to_contract())
    else:
        _show(report)
        if out is not None:
            kind = "public" if public else "internal: it names single records"
            show.echo(f"report     {out}  ({kind})")
    for note in sentences(report.findings.notes):
        show.print_message(f"note: {note}")
    if not report.passed:
        from isinglass.cli.gate import tell_unmet

        tell_unmet(report)
        raise typer.Exit(1)


def _is_model(release: Path) -> bool:
    if release.suffix.lower() == ".parquet":  # as releases of ours are, so nothing more is loaded
        return False
    from isinglass.detect.protobuf import is_onnx

    return is_onnx(release)


def _opened(path: Path | None, words: str | None) -> tuple[Perturbation | None, KeyFacts | None]:
    """The fitted perturbation of a key file, and what else the key knows."""
    if path is None:
        return None, None
    from isinglass.auditing.files.key_match import KeyFacts
    from isinglass.perturb.key import read_key
    from isinglass.perturb.registry import restore

    stored = read_key(path, passphrase=words)
    return restore(stored, str(path)), KeyFacts.of(stored.facts, stored.arrays)


def _show(report: Report) -> None:
    from isinglass.attack.knowledge import PublicParameters
    from isinglass.auditing.report import text as words
    from isinglass.auditing.report.sentences import sentence

    found = report.findings
    show.echo(words.detection_sentence(found))
    show.echo(words.attack_sentence(found))
    for said in (words.decisive_sentence(found), words.limited_sentence(found)):
        if said:
            show.echo(said)
    show.echo("")
    _show_attackers(found)
    done = words.order(found.attacks)
    if any(a.knowledge_beyond is not None for a in done):
        show.echo(f"every attacker knows {PublicParameters(found.method).describe()}")
    if done:
        _show_attacks(done)
    for a in found.attacks:
        if a.failed is not None:
            show.echo(f"{a.name} failed: {sentence(a.failed)}")
    for s in found.skipped:
        show.echo(f"{s.name} was not run: {sentence(s.reason)}")
    show.echo("")
    d = found.detection
    of = f" of the {d.n_outliers:,} strongest outliers ({words.interval(d.low, d.high)})"
    show.echo(f"detection  {words.found_again(d)}{'' if d.rate is None else of}")
    if found.linkage is not None:
        level = words.number(found.linkage.average), words.number(found.linkage.worst_1pct)
        show.echo(f"linkage    level {level[0]} on average, {level[1]} for the worst 1 %")
    show.echo(f"verdict    {found.verdict}")
    if found.policy:
        met = sum(line.met for line in found.policy)
        show.echo(f"policy     {met} of {len(found.policy)} demands met")


def _show_attackers(found: Findings) -> None:
    """A line for each named attacker, then the risks of the strongest without the key."""
    from isinglass.auditing.report import text as words

    for a in found.attackers:
        gain = f"gain {words.share(a.gain)} ({words.interval(a.low, a.high)})"
        show.echo(f"{words.name_of(a.name).ljust(11)}{a.verdict}, {gain}: has {a.assumes}")
    if found.attackers:
        risks = found.risks()
        named = (
            ("singling out", risks.singling_out),
            ("linkability", risks.linkability),
            ("inference", risks.inference),
        )
        told = ", ".join(
            f"{name} {'not measured' if value is None else words.share(value)}"
            for name, value in named
        )
        show.echo(f"risks      {told}")
        show.echo("")


def _show_attacks(attacks: list[AttackResult]) -> None:
    """A line for each attacker, in the order of their gains; those with the key apart."""
    from isinglass.auditing.report import text as words

    head = ("attack", "gain", "success", "interval", "baseline", "control", "knowing")
    lines = [
        (a.name + (" *" if a.no_better_than_baseline else ""), words.share(a.gain),
         words.share(a.success), words.interval(a.low, a.high), words.share(a.baseline),
         words.share(a.control), a.knowledge if a.knowledge_beyond is None else a.knowledge_beyond)
        for a in attacks
    ]  # fmt: skip
    widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]

    def show_line(line: tuple[str, ...]) -> None:
        show.echo("  ".join(w.ljust(n) for w, n in zip(line, widths, strict=True)).rstrip())

    show_line(head)
    for line, a in zip(lines, attacks, strict=True):
        if not a.with_key:
            show_line(line)
    if any(a.with_key for a in attacks):
        show.echo("if the key leaks (not counted)")
        for line, a in zip(lines, attacks, strict=True):
            if a.with_key:
                show_line(line)
    show.echo(
        "gain: how far the attacker gets from a blind guess (0 %) to the exact values (100 %), "
        "by the worst of three measures"
    )
    if any(a.no_better_than_baseline for a in attacks):
        show.echo("* success is no better than its baseline; a gain beside it is in other readings")
