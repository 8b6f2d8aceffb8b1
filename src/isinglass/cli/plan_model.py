"""Plan of guaranteed models: `isinglass plan --model`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from isinglass.cli import show
from isinglass.formats import counted, number

if TYPE_CHECKING:
    from isinglass.publish.model_plan import Budget, ModelPlan

#: parameters of `isinglass plan` that go with --model
_WITH_MODEL = {
    "model", "epsilon", "budget", "delta", "delta_cap", "ledger", "secret", "note", "n_columns",
    "records_per_person", "threshold", "as_json",
}  # fmt: skip
#: and those that go with nothing else
_ONLY_WITH_MODEL = {
    "delta", "delta_cap", "ledger", "secret", "note", "n_columns", "records_per_person",
    "threshold",
}  # fmt: skip


def check_given(context: typer.Context, *, model: bool) -> None:
    """Refuse options of a curator's plan beside those of models, and the other way around."""
    from isinglass.errors import CuratorError

    wrong = [
        next((o for o in parameter.opts if o.startswith("--")), "PUBLIC")
        for parameter in context.command.params
        if (parameter.name not in _WITH_MODEL if model else parameter.name in _ONLY_WITH_MODEL)
        and typed(context, str(parameter.name))
    ]
    if not wrong:
        return
    named = ", ".join(wrong)
    if model:
        raise CuratorError(f"--model plans models, and no curator: leave {named} out")
    raise CuratorError(f"{named}: only with --model, which plans models")


def print_model_plan(
    *,
    epsilon: str | None,
    delta: str,
    budget: str | None,
    delta_cap: str | None,
    ledger: str | None,
    secret: Path | None,
    note: Path | None,
    n_columns: int,
    records_per_person: int | None,
    threshold: float | None,
    as_json: bool,
) -> None:
    """Plan, and print it."""
    from isinglass.errors import CuratorError
    from isinglass.publish.model_plan import plan_models

    if epsilon is None:
        raise CuratorError("--epsilon must be given: the price of one model")
    if ledger is None and (secret or note):
        raise CuratorError("--secret and --note go with --ledger; leave them out")
    room, records = _room(epsilon, delta, budget, delta_cap, ledger, secret, note)
    found = plan_models(
        room,
        epsilon=epsilon,
        delta=delta,
        n_columns=n_columns,
        records_per_person=records if records_per_person is None else records_per_person,
        threshold_share=threshold,
    )
    if as_json:
        show.print_json(found.to_json())
        return
    _print(found)


def _room(
    epsilon: str,
    delta: str,
    budget: str | None,
    delta_cap: str | None,
    ledger: str | None,
    secret: Path | None,
    note: Path | None,
) -> tuple[Budget, int]:
    """The budget, as given or as a ledger has it, and how many records one person has."""
    from isinglass.curate.ledger.ledger import Ledger
    from isinglass.epsilon import femto, micro
    from isinglass.errors import CuratorError
    from isinglass.publish.model_plan import Budget

    price, small = micro(epsilon, "--epsilon"), femto(delta, "--delta")
    if ledger is None:
        cap = micro("1" if budget is None else budget, "--budget")
        # As in a new contract: what as many such models spend as the budget allows.
        most = small * (cap // price) if delta_cap is None else femto(delta_cap, "--delta-cap")
        return Budget.new(cap, most), 1
    if budget is not None or delta_cap is not None:
        raise CuratorError("--ledger says what the budget is; leave --budget and --delta-cap out")
    with Ledger(ledger, secret=secret, note=note, create=False) as opened:
        return Budget.of_ledger(opened), opened.contract.records_per_person


def _print(found: ModelPlan) -> None:
    needed = found.needed
    show.echo(found.sentence(), found.together_sentence(), "")
    show.echo(
        f"With {counted(found.n_columns, 'column')} of numbers, a table of fewer than "
        f"{needed.reliable:,} records drowns in the noise; from {needed.settled:,} on it hardly "
        "shows:"
    )
    lines = [("records of one person", "noise on a count", "drowns below", "settled from", "")]
    lines += [
        (f"{k.records_per_person:,}", number(k.noise), f"{k.reliable:,}", f"{k.settled:,}",
         "<-" if k == needed else "")
        for k in found.others
    ]  # fmt: skip
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        show.echo("  ".join(w.rjust(n) for w, n in zip(line, widths, strict=True)).rstrip())
    data = found.on_public_data
    by_epsilon = ", ".join(f"{auc:.3f} at {e}" for e, auc in data["by_epsilon"].items())
    show.echo(
        "",
        f"On public data, models of {data['kind']} found anomalies with this {data['measure']}: "
        f"{by_epsilon}; an isolation forest without privacy: "
        f"{data['isolation_forest_without_privacy']:.3f}. {data['caution']} No table was read, and "
        "nothing was spent.",
    )


def typed(context: typer.Context, name: str) -> bool:
    """Whether a parameter stands on the command line, and has not its default."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
