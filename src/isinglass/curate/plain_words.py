"""What a curator promises, in sentences without a formula."""

from __future__ import annotations

import math
from dataclasses import replace

from isinglass.curate.guarantee import Guarantee
from isinglass.epsilon import FEMTO, as_float

#: a factor above which nobody should rely on the promise
HARDLY = 1000.0


def odds(epsilon: float) -> str:
    """By how much a promise of epsilon lets odds about one record shift, rounded up."""
    # No exponential here: a factor beyond any use may be beyond float64, too.
    if epsilon > math.log(HARDLY):
        return f"by a factor above {HARDLY:,.0f}, which hardly promises anything"
    factor = math.exp(epsilon)
    digits = 2 - math.floor(math.log10(factor))
    rounded = math.ceil(factor * 10**digits * (1 - 1e-12)) / 10**digits
    return f"by a factor of at most {rounded:g}"


def about_answer(promise: Guarantee) -> list[str]:
    """What the guarantee of an answer says, for whoever gets the answer; settings alone."""
    whom = "every record of the table"
    if promise.privacy == "sensitive":
        whom = f"every sensitive record of the table, which is {_alone(promise)}"
    found = [
        f"Each answer protects {whom}: the odds that anybody gives to that record's being in "
        f"the table shift {odds(promise.epsilon)} by it, whatever else they know."
    ]
    if promise.worst_case is not None:
        found.append(
            "Records of the table that are not sensitive have no such promise toward whoever "
            "holds that very record."
        )
    return [*found, *about_all(promise)]


def about_all(promise: Guarantee) -> list[str]:
    """What holds of everything together that is ever answered or given away from one ledger."""
    found = []
    if promise.cap is not None:
        cap = as_float(promise.cap)
        found.append(
            "Everything together, whoever asks and however often: the odds that anybody gives to "
            f"the presence of {promise.covered} in the table shift {odds(cap)} (epsilon "
            f"{cap:g}){_failing(promise)}."
        )
        found.append(_person(promise))
    if promise.also_released:
        found.append(
            "The table also left as a release. No promise here covers what that release tells."
        )
    return found


def _person(promise: Guarantee) -> str:
    m, total = promise.records_per_person, promise.person_epsilon
    if m == 1:
        return "That is for a person who has one record in the table; with more, it adds up."
    if total is None:
        return (
            f"A person may have {m} records in the table. How much they may lose is not known, as "
            "another copy of the ledger may have made models."
        )
    return (
        f"A person may have {m} records in the table; the odds about such a person shift "
        f"{odds(total)} (epsilon {total:.12g})."
    )


def _failing(promise: Guarantee) -> str:
    """The chance that the promise fails, where there is any."""
    if not promise.delta_cap:
        return ""
    return f", apart from a chance of {promise.delta_cap / FEMTO:g} that this fails"


def _alone(promise: Guarantee) -> str:
    """Which records one question calls sensitive."""
    # Of the ledger's terms only those of this question say what it covers.
    own = replace(promise, k_min=None, beta_max=None, r_min=None, rule=None)
    if promise.k is None:
        own = replace(own, rule=promise.mode)
    return own.covered
