"""Page of answers that may be forwarded: what was asked, what was answered, what is promised."""

from __future__ import annotations

from collections.abc import Sequence

from isinglass.curate.guarantee import Guarantee
from isinglass.curate.plain_words import about_answer
from isinglass.curate.query import Answer
from isinglass.epsilon import text
from isinglass.plots import pages


def answer_page(
    answers: Sequence[Answer],
    *,
    columns: Sequence[str],
    count_query: bool = True,
    ids: Sequence[str] | None = None,
    id_name: str = "record",
) -> str:
    """One HTML page that loads nothing.

    Beside settings and the asker's own identifiers it holds the answers, and nothing else that the
    table had a part in: no counts, no odds of an error, and not what is left of the budget, which
    follows from what others asked.
    """
    promise = answers[0].guarantee
    header = (*(() if ids is None else (id_name,)), "row", "anomalous")
    return pages.render(
        "isinglass/curate/answer_page.html.j2",
        n=len(answers),
        found=sum(answer.anomalous for answer in answers),
        question=_question(promise, count_query),
        columns=columns,
        header=header,
        rows=[
            (*(() if ids is None else (ids[row],)), str(row), word(answer))
            for row, answer in enumerate(answers)
        ],
        price=text(promise.micro),
        plain=about_answer(promise),
        exact=promise.sentence(),
    )


def word(answer: Answer) -> str:
    """An answer in a word."""
    return "yes" if answer.anomalous else "no"


def _question(promise: Guarantee, count_query: bool) -> str:
    beta, r = f"{promise.beta:,}", f"{promise.r:g}"
    near = f"at most {beta} records of the table within {r} of it"
    if promise.mode == "sparse":
        itself = (
            "if it were in the table, too, and itself counted"
            if count_query
            else "itself counted, as one that the table has by the asker's own word"
        )
        return (
            f"Is the place of this record sparse: are there {near}, {itself}? Whether the record "
            "is in the table was not asked."
        )
    if promise.mode in ("sensitive", "dp"):
        return f"Is this record in the table, with {near}, itself counted?"
    return f"Is this record an anomaly by the rule “{promise.mode}”, with beta {beta} and r {r}?"
