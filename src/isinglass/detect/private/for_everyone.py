"""What a private model promises, in words for whoever was counted; and prices that promise nothing.

All follows from settings, computed in decimals, so that every machine writes the same words.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal

from isinglass.epsilon import FEMTO, MICRO, text

#: millionths of epsilon up to which a person hardly counts; above which that is said to be weak;
#: and above which nothing is promised that is worth the word
ALMOST_THE_SAME, WEAK_ABOVE, MOST_MICRO = MICRO, 3 * MICRO, 20 * MICRO
MOST_FEMTO = FEMTO // 1000  # of delta: the chance that somebody is told all about
#: What all cards said at first, whatever the price.
EARLIER = (
    "What this model says would be almost the same had your records never been in the table, so "
    "nobody can learn much from it about you that could not be learned without you."
)


def sentence_for_everyone(micro: int, femto: int, records: int) -> str:
    """What somebody with at most so many records in the table may rely on."""
    if hardly_counts(micro, femto):
        said = "What this model says would be almost the same had you never been in the table."
    elif micro <= WEAK_ABOVE and femto <= MOST_FEMTO:
        said = "What this model can betray about you is limited."
    else:
        said = "What this model can betray about you is limited only loosely."
    kept = "one record" if records == 1 else f"{records:,} records"
    return (
        f"{said} Whoever held it for even odds that you are in the table, and decides once they "
        f"have seen all of it, is right with a chance of at most {most_certain(micro, femto)} %, "
        f"whatever else they know. This holds for everybody with at most {kept} in the table."
    )


def hardly_counts(micro: int, femto: int) -> bool:
    """Whether a model is almost the same without any one person."""
    return micro <= ALMOST_THE_SAME and femto <= MOST_FEMTO


def weak_promise(micro: int, femto: int) -> str | None:
    """A warning where the promise is a loose one."""
    if micro <= WEAK_ABOVE:
        return None
    return (
        f"epsilon {text(micro)} is a weak promise: whoever held it for even odds that a person "
        f"was counted can be right with a chance of {most_certain(micro, femto)} % afterwards; "
        "1 or less is usual"
    )


def refuse_empty_promise(micro: int, femto: int) -> None:
    """Raise ValueError for a price at which a guarantee would be a word alone."""
    if micro > MOST_MICRO:
        raise ValueError(
            f"epsilon must be at most {text(MOST_MICRO)} for a model, got {text(micro)}: beyond "
            "that it would promise nobody anything"
        )
    if femto > MOST_FEMTO:
        raise ValueError(
            f"delta must be at most 0.001 for a model, got {femto / FEMTO:g}: it is the chance "
            "that the promise fails, and should be well below 1 / the number of records"
        )


def most_certain(micro: int, femto: int) -> str:
    """The most percent of right guesses from even odds, rounded up: (e^eps + delta)/(1 + e^eps)."""
    context = Context(prec=40)
    odds = context.exp(Decimal(micro) / MICRO)
    sure = context.divide(odds + Decimal(femto) / FEMTO, 1 + odds)
    percent = (100 * sure).quantize(Decimal("0.1"), ROUND_CEILING, Context(prec=60))
    return f"{percent:f}".removesuffix(".0")
