"""Text of `isinglass ledger show` for whoever answers for the people in the table."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import TYPE_CHECKING

from isinglass.cli.show import echo
from isinglass.formats import counted

if TYPE_CHECKING:
    from isinglass.curate.ledger.standing import AccountStanding, LedgerStanding

#: days beyond which a forecast from the pace so far is not worth its digits
_FAR = 3650


def print_standing(found: LedgerStanding) -> None:
    """What is promised to people, what is left and until when, and who asked."""
    echo("What is promised to the people in the table", *(f"  {s}" for s in found.promises))
    echo("", "How much is left")
    now = datetime.datetime.now(datetime.UTC)
    echo(*(f"  {sentence}" for sentence in _left(found, now)))
    echo("", "Who asked")
    for account in found.accounts:
        echo(f"  {account.user}: {_asked(account)}")
    if found.models:
        echo(f"  {counted(found.models, 'guaranteed model')} made by the curator")


def _left(found: LedgerStanding, now: datetime.datetime) -> Iterator[str]:
    from isinglass.epsilon import text

    for account in found.accounts:
        if not account.part:
            continue
        most = f"{account.user} has spent {text(account.most)} of {text(account.part)}"
        if not account.most:
            yield f"{account.user} has spent nothing of {text(account.part)} anywhere."
            continue
        if not account.left:
            yield f"Where most was asked, {most}: nothing is left there, for ever."
            continue
        until = _until(found, account, now)
        yield f"Where most was asked, {most}: {text(account.left)} is left there. {until}"
    if found.everywhere:
        yield f"{text(found.everywhere)} of this is spent at every place, so nowhere is more left."
    else:
        yield "Where nobody asked, all is left. What is spent never comes back."


def _until(found: LedgerStanding, account: AccountStanding, now: datetime.datetime) -> str:
    days = found.days_left(account, now)
    if days is None:
        return "How long that lasts cannot be told yet."
    if days > _FAR:
        return "At the pace so far, that lasts for more than ten years."
    day = (now + datetime.timedelta(days=days)).date()
    return f"At the pace so far, that lasts until about {day:%Y-%m-%d}."


def _asked(account: AccountStanding) -> str:
    if not account.answers:
        return "nothing yet"
    first, last = account.first[:10], account.last[:10]
    when = f"on {first}" if first == last else f"from {first} to {last}"
    return f"{counted(account.answers, 'answer')} paid for, {when}"
