"""`isinglass plan`: count limit, radius and epsilon, chosen on public records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from isinglass.cli import options, show

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from isinglass.curate.space import Space


def plan(
    context: typer.Context,
    public: Path | None = typer.Argument(
        None, metavar="PUBLIC", help="Public or past records, never the private table."
    ),
    outlier_fraction: str | None = typer.Option(
        None, "--outlier-fraction", metavar="SHARE", help="The share of PUBLIC to call anomalies."
    ),
    label: options.Label = None,
    beta: float | None = typer.Option(
        None, "--beta", help="Most records within r of an anomaly; default: 0.5 % of PUBLIC."
    ),
    r: float | None = typer.Option(None, "--r", help="The radius, where it is known already."),
    target_recall: float | None = typer.Option(
        None, "--target-recall", help="The share of anomalies to find; default: 0.9."
    ),
    epsilon: str | None = typer.Option(
        None,
        "--epsilon",
        metavar="EPS",
        help="The price of an answer, where it is known already, or of a model.",
    ),
    budget: options.Budget[str] = "1",
    mode: options.Mode = "sparse",
    k: options.ProtectedK = None,
    queries: Path | None = typer.Option(
        None, "--queries", help="Records to be asked about: how many fit under the budget?"
    ),
    scale_by: Annotated[
        Literal["percentiles", "range", "deviation"] | None,
        typer.Option(help="Fit the columns' units on PUBLIC."),
    ] = None,
    components: int | None = typer.Option(
        None, "--components", help="Compare by so many principal components of PUBLIC."
    ),
    bounds: options.Bounds = None,
    metric: Annotated[options.MetricChoice, typer.Option(help="The distance.")] = "euclidean",
    p: options.Power = None,
    space: Path | None = typer.Option(
        None, "--space", help="Write scaling and distance here, for `isinglass ask --space`."
    ),
    drop: options.Drop = [],
    columns: options.Columns = None,
    missing: options.MissingRows = None,
    out: Annotated[Path | None, options.out("Write the plan: .html, .png, .svg or .json.")] = None,
    force: options.Force = False,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = None,
    as_json: options.AsJson = False,
    model: bool = typer.Option(
        False, "--model", help="Plan guaranteed models instead, by settings alone: no PUBLIC."
    ),
    delta: str = typer.Option(
        "1e-6", "--delta", help="The chance that the promise fails; 0 for pure epsilon."
    ),
    delta_cap: options.DeltaCap = None,
    n_columns: int = typer.Option(
        10, "--n-columns", help="Only with --model: how many columns of numbers the table has."
    ),
    records_per_person: options.RecordsPerPerson = None,
    threshold: float | None = typer.Option(
        None,
        "--threshold",
        metavar="SHARE",
        help="The share of records, such as 0.01, that should score above the model's threshold.",
    ),
    ledger: str | None = typer.Option(
        None, "--ledger", metavar="FILE|URL", help="Only with --model: what still fits there?"
    ),
    secret: options.Secret = None,
    note: options.Note = None,
) -> None:
    """Choose beta, r and epsilon on PUBLIC: what would be found, and how many queries that buys.

    With --model: how many guaranteed models a budget buys, and how many records each needs.
    Nothing is asked and nothing is spent. Example:

    isinglass plan last-year.csv --outlier-fraction 0.01 --scale-by percentiles --space space.json

    isinglass plan --model --epsilon 0.25 --budget 3 --n-columns 12
    """
    from isinglass.cli.plan_model import check_given, print_model_plan, typed

    check_given(context, model=model)
    if model:
        print_model_plan(
            epsilon=epsilon, delta=delta, budget=budget if typed(context, "budget") else None,
            delta_cap=delta_cap, ledger=ledger, secret=secret, note=note, n_columns=n_columns,
            records_per_person=records_per_person, threshold=threshold, as_json=as_json,
        )  # fmt: skip
        return
    if public is None:
        from isinglass.errors import CuratorError

        raise CuratorError(
            "PUBLIC is missing: name a file of public or past records, or plan models with --model"
        )
    from isinglass.cli.columns import choose, rows_rule
    from isinglass.cli.numeric_columns import read_numbers, same_columns, unknown_columns
    from isinglass.cli.options import check_question
    from isinglass.cli.plan_text import ask_command, ask_options, print_plan
    from isinglass.curate.planning.plan import plan as planned
    from isinglass.files import refuse_targets

    least_k = check_question(mode, k, metric, p)
    if columns is None:
        _check(outlier_fraction, label, r, beta, target_recall, epsilon)
    _check_space(scale_by, components, bounds, space)
    targets = {name: path for name, path in (("the plan", out), ("the space", space)) if path}
    if out is not None and out.suffix not in (".html", ".png", ".svg", ".json"):
        raise ValueError(f"--out must end in .html, .png, .svg or .json, got {out.name}")
    refuse_targets(targets, [public, queries, bounds, columns], force=force)
    chosen_columns = choose(
        columns, public, drop=drop, encoding=encoding, delimiter=delimiter, decimal=decimal,
        missing=missing, label=label,
    )  # fmt: skip
    if label is None and outlier_fraction is None and r is None:
        label = chosen_columns.label
    _check(outlier_fraction, label, r, beta, target_recall, epsilon)
    reading = chosen_columns.reading.file
    files = [public] if queries is None else [public, queries]
    unknown_columns(drop, files, **reading)
    left_out = [*drop, *chosen_columns.no_numbers(), *([] if label is None else [label])]
    with show.Bar() as bar:
        X, names = read_numbers(
            public, drop=left_out, missing=rows_rule(chosen_columns),
            advice="leave those rows out with --missing drop", progress=bar, **reading,
        )  # fmt: skip
        labels = None if label is None else _labels(public, label, len(X), reading)
        asked = None
        if queries is not None:
            asked, theirs = read_numbers(
                queries, drop=left_out, advice="leave those rows out of it, or complete them",
                progress=bar, **reading,
            )  # fmt: skip
            same_columns(names, theirs, public, queries)
    limits = chosen_columns.bounds if scale_by is None and components is None else None
    declared = _space(X, names, scale_by, components, bounds, metric, p, limits)
    chosen = None
    if r is None:
        from isinglass.curate.planning.choose import choose_beta_r

        chosen = choose_beta_r(
            X,
            outlier_fraction=outlier_fraction,
            labels=labels,
            beta=beta,
            space=declared,
            short=True,
        )
        beta, r = chosen.beta, chosen.r
    if target_recall is None and epsilon is None:
        target_recall = 0.9
    found = planned(
        budget=budget,
        epsilon=epsilon,
        target_recall=target_recall,
        table=X,
        labels=labels,
        beta=beta,
        r=r,
        mode=mode,
        k=least_k,
        queries=asked,
        space=declared,
    )
    if out is not None:
        found.save(out)
    if space is not None:
        declared.noting(X).save(space)
    if as_json:
        show.print_json(found.to_json())
        return
    print_plan(found, chosen, space, out)
    if found.chosen.queries_here:
        as_planned = ask_options(
            space, bounds, metric, p, drop, missing, encoding, delimiter, columns, decimal
        )
        show.echo(f"then     {ask_command(found, budget, as_planned, queries)}")
        if label is not None and columns is None:
            show.echo(f"         with --drop {label}, too, where TABLE has that column")


def _check(
    outlier_fraction: str | None,
    label: str | None,
    r: float | None,
    beta: float | None,
    target_recall: float | None,
    epsilon: str | None,
) -> None:
    from isinglass.errors import CuratorError

    if r is None and (outlier_fraction is None) == (label is None):
        raise CuratorError(
            "say how r is to be chosen: by --outlier-fraction or by --label, or give --beta and --r"
        )
    if r is not None and (beta is None or outlier_fraction is not None):
        raise CuratorError("--r goes with --beta, and leaves nothing for --outlier-fraction")
    if target_recall is not None and epsilon is not None:
        raise CuratorError("--target-recall finds the epsilon; leave one of the two out")


def _check_space(
    scale: str | None, components: int | None, bounds: Path | None, space: Path | None
) -> None:
    from isinglass.errors import CuratorError

    if scale is None and components is None:
        return
    option = "--components" if scale is None else "--scale-by"
    if bounds is not None:
        raise CuratorError(f"--bounds says how columns are scaled; leave {option} out")
    if space is None:
        raise CuratorError(
            f"{option} is fitted on PUBLIC, and `isinglass ask` must be given the same: name a "
            "file for it with --space"
        )


def _labels(table: Path, label: str, n_rows: int, reading: dict[str, Any]) -> NDArray[np.bool_]:
    import numpy as np

    from isinglass.errors import TableError
    from isinglass.table.prepare import plain_numbers
    from isinglass.table.read import open_table

    opened = open_table(table, **reading)
    if label not in opened.schema.names:
        raise TableError(f"{table} has no column named {label}")
    parts = [plain_numbers(batch.column(0)) for batch in opened.batches([label])]
    found = np.concatenate(parts)
    if len(found) != n_rows or not np.isin(found, (0, 1)).all():
        raise TableError(
            f"column {label} of {table} must be 0 or 1 in every row; --missing drop does not go "
            "with --label"
        )
    return np.asarray(found == 1)


def _space(
    X: NDArray[np.float64],
    names: tuple[str, ...],
    scale: Any,
    components: int | None,
    bounds: Path | None,
    metric: str,
    p: float | None,
    limits: dict[str, tuple[float, float]] | None,
) -> Space:
    from isinglass.curate.space import Space

    if scale is not None or components is not None:
        return Space.fitted(
            X, public=True, columns=names, scale=scale, n_components=components,
            metric=metric, p=p,
        )  # fmt: skip
    if bounds is None:
        return Space.declare(names, bounds=limits, metric=metric, p=p)
    from isinglass.table.scale import read_bounds

    return Space.declare(names, bounds=read_bounds(bounds), metric=metric, p=p)
