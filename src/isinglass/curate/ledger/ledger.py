"""Ledger: checks, charges and stores an answer before it leaves."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from isinglass.curate.ledger import terms
from isinglass.curate.ledger.backends.connect import connect
from isinglass.curate.ledger.batch import (
    Answered,
    Batch,
    Draw,
    MicroPrice,
    answered_earlier,
    check_printable,
    stored,
)
from isinglass.curate.ledger.contract import Agreement, Contract, refuse_cap
from isinglass.curate.ledger.head import Head
from isinglass.curate.ledger.model_spend import NO_MODELS, ModelSpend, ModelTotals
from isinglass.curate.ledger.state import Books, agreed
from isinglass.curate.ledger.transaction import Keeper
from isinglass.curate.query import Query
from isinglass.detect.metric import Metric
from isinglass.errors import CuratorError, LedgerError

if TYPE_CHECKING:
    from isinglass.curate.ledger.paid_models import PaidModel
    from isinglass.curate.ledger.replay import EverywhereBudget
    from isinglass.curate.ledger.standing import LedgerStanding
    from isinglass.curate.ledger.verify import Verified


class Ledger:
    """Every answer ever given about one population, what it cost, and the terms of asking.

    `where` is a file (SQLite) or a `postgresql://` address; nothing is made there before the
    first signature. Entries are only ever added, each
    sealed with the one before it under a secret that is kept elsewhere, as is a note of the
    newest: in the folder `ledgers` of `ISINGLASS_HOME`, or in the files `secret` and `note`.
    A ledger that does not hold every noted entry is refused, and so is one that nothing is noted
    of, unless `check` is False: then it can be verified and shown, which says more.

    Several processes may use one ledger at once, and threads and curators may share a `Ledger`;
    a process that was forked opens its own.

    Examples
    --------
    >>> ledger = ig.Ledger("ledger.db")
    >>> curator = ig.Curator([[0.5], [1.5]], beta=1, r=1, budget=1, ledger=ledger)
    >>> curator.ask([0.5], epsilon="0.25").left
    0.75
    """

    def __init__(
        self,
        where: str | Path,
        *,
        secret: Path | None = None,
        note: Path | None = None,
        create: bool = True,
        check: bool = True,
    ) -> None:
        self._keeper = Keeper(where, secret=secret, note=note, create=create)
        self._agreement: Agreement | None = None
        #: whether this object's first signature wrote the contract
        self.created = False
        if check:
            try:
                self._keeper.refuse_old()
            except BaseException:
                self._keeper.close()
                raise

    def __repr__(self) -> str:
        return f"Ledger({self._keeper.db.name!r})"

    def sign(
        self, contract: Contract, metric: Metric, table: bytes, *, new_version: str | None = None
    ) -> Agreement:
        """Agree to the ledger's contract, or write it if this is the first use.

        `table` is the plain SHA-256 of the table; only its HMAC under the secret is kept. Another
        table than the last needs `new_version`, the reason: spends stay, stored answers do not.
        Whoever shares a `Ledger` hands the agreement back when asking; otherwise the last counts.
        """
        self._agreement = terms.sign(self._keeper, contract, metric, table, new_version)
        self.created = self.created or self._agreement.first
        return self._agreement

    def sign_models(
        self,
        *,
        cap: int | None = None,
        delta_cap: int | None = None,
        records_per_person: int | None = None,
        also_released: bool | None = None,
    ) -> Contract:
        """Agree to what the contract says of models, or write one if this is the first use.

        What is None is as the contract says; in a new one no delta may be spent then, a person has
        one record, and the table has not left as a release. `cap` is in millionths of epsilon,
        `delta_cap` in parts of 1e-15. A contract that begins so has no distance, columns and modes;
        the first `sign` completes it.
        """
        given = {"cap": cap, "delta_cap": delta_cap, "records_per_person": records_per_person,
                 "also_released": also_released}  # fmt: skip
        contract, first = terms.sign_models(self._keeper, given)
        self.created = self.created or first
        return contract

    @classmethod
    def begun(cls, where: str | Path) -> bool:
        """Whether a ledger with a contract is there; makes nothing."""
        database = connect(where)
        try:
            return database.last() is not None
        finally:
            database.close()

    @property
    def signed(self) -> bool:
        """Whether the ledger has a contract."""
        with self._keeper.alone():
            return self._keeper.books() is not None

    @property
    def contract(self) -> Contract:
        """The terms, as last amended."""
        with self._keeper.alone():
            return agreed(self._keeper.books())

    @property
    def known_contract(self) -> Contract | None:
        """The terms as last read, without looking again: what the last answer was given under."""
        books = self._keeper.known
        return None if books is None else books.contract

    @property
    def version(self) -> int:
        """How many versions of the table this ledger has seen; 0 before its first use."""
        with self._keeper.alone():
            books = self._keeper.books()
            return 0 if books is None else books.version

    def amend(
        self,
        *,
        reason: str,
        cap: int | None = None,
        records_per_person: int | None = None,
        also_released: bool | None = None,
        delta_cap: int | None = None,
    ) -> None:
        """Make the terms weaker from now on, which is the only way they ever change.

        More may be spent at a place (`cap`, in millionths of epsilon), a person has more records
        in the table, the table left as a release too, or models may spend more delta (`delta_cap`,
        in parts of 1e-15; 0 in a ledger that did not begin with one). The entry keeps the `reason`.
        """
        given = {"cap": cap, "records_per_person": records_per_person,
                 "also_released": also_released, "delta_cap": delta_cap}  # fmt: skip
        terms.amend(self._keeper, given, reason)

    def admit(self, user: str, *, reason: str, share: int | None = None) -> None:
        """Give an end user a share of the budget, at every place and for ever, or a larger one.

        `share` is in millionths of epsilon; None: the contract's budget for a user. It is set
        apart from what the curator may spend, so it is refused where the curator has spent
        so much at some place that the two would not fit under the cap together. From then on the
        user is held to the share by their own spends, and told of nothing else.
        """
        terms.admit(self._keeper, user, share, reason)

    def answer(
        self,
        queries: Sequence[Query],
        draw: Draw,
        *,
        user: str = "curator",
        key: str | None = None,
        fresh: bool = False,
        agreement: Agreement | None = None,
    ) -> list[Answered]:
        """Answer queries in one transaction: all of them, or none and nothing is spent.

        In this order, under the ledger's one lock: spends that others added are read in; a `key`
        that this user has used returns what it returned then; stored answers are looked up,
        unless `fresh`; the rest is priced, and refused if it does not fit; `draw` is called once
        with the queries that are to be drawn; entries are written and committed. If `draw` fails,
        they are committed without an answer: the attempt may have told something.

        What a `user` other than the curator gets back, and what they are refused, follows from
        the terms and from that user's own queries: their share (`admit`), spends and stored
        answers. The curator has the rest of the budget, and everybody's stored answers.
        """
        batch = Batch(queries, user, key=key, fresh=fresh)
        with self._keeper.writing() as found:
            books = self._signed(found, queries, agreement, user)
            earlier = answered_earlier(self._keeper, batch)
            known = stored(self._keeper, batch, books) if earlier is None else earlier
            batch.price(known, books.budget)
            failed = batch.draw(draw)
            if earlier is None and (rows := batch.rows()):
                self._keeper.add(rows)
        if failed is not None:
            if not isinstance(failed, Exception):  # an interrupt goes its way, paid for
                raise failed
            raise CuratorError(
                "the answer could not be computed; what it costs is spent, because the attempt may "
                "have told something"
            ) from None
        return batch.answers()

    def price(
        self,
        queries: Sequence[Query],
        *,
        user: str = "curator",
        fresh: bool = False,
        agreement: Agreement | None = None,
    ) -> list[MicroPrice]:
        """What `answer` would charge now; asks nothing and writes nothing."""
        batch = Batch(queries, user, fresh=fresh)
        with self._keeper.alone():
            books = self._signed(self._keeper.books(), queries, agreement, user)
            batch.price(stored(self._keeper, batch, books), books.budget)
            return batch.prices

    def charge_everywhere(
        self,
        micro: int,
        reason: str,
        *,
        user: str = "curator",
        agreement: Agreement | None = None,
    ) -> None:
        """Pay at every place at once, before something is computed from the whole table.

        It fits if its price, all earlier spends at every place, and the largest sum of local spends
        that any query had at its turn are together within the cap.
        """
        from isinglass.curate.ledger.replay import replayed  # an answer has no use for it

        facts = {"reason": check_printable("reason", reason)}
        check_printable("user", user)
        refuse_cap("micro", micro)
        with self._keeper.writing() as found:
            books = self._signed(found, (), agreement, user)
            replay = replayed(self._keeper.db, self._keeper.secret)
            replay.refuse_everywhere("the charge", micro, user)
            row = terms.entry_of("everywhere", books.version, facts)
            self._keeper.add([row._replace(user=user, influence=math.inf, micro=micro)])

    def charge_model(
        self,
        draw: Callable[[], bytes],
        *,
        micro: int,
        femto: int,
        rho: Fraction | None,
        records_per_person: int,
        request_id: str,
        digest: bytes,
        about: Mapping[str, str] | None = None,
    ) -> bytes:
        """Pay for a guaranteed model and return its noised counts, which are stored with the entry.

        `micro` is epsilon in millionths, `femto` delta in parts of 1e-15; `rho` is the price of the
        noise in zCDP, None where epsilon is pure and delta is 0. It is all for a person with
        `records_per_person` records, which must be as the contract says. It is paid at every place,
        as `charge_everywhere` pays, and counts against every user's cap; delta adds up to the
        contract's cap of delta. `sign_models` comes first, once.

        In this order, in one transaction: a `request_id` that was used returns the stored bytes,
        for nothing and without a call of `draw`, if the price and `digest`, of all else that makes
        the request, are the same; another request under it is refused. Else the price is checked,
        `draw` is called once, and its bytes are written with the entry, committed, and returned. If
        it fails, the entry is committed without them: the attempt may have told something. Whoever
        else asks the ledger meanwhile waits, for a minute at most. `about` are public settings that
        are kept with a new entry, for whoever looks for it later (`paid_models`).
        """
        spend = ModelSpend(micro, femto, rho, records_per_person)
        from isinglass.curate.ledger.model_charge import charge  # an answer has no use for it

        return charge(self._keeper, spend, draw, request_id, digest, about or {})

    def paid_models(self) -> list[PaidModel]:
        """The models that were paid for here, in their order, with their requests."""
        from isinglass.curate.ledger.paid_models import paid_models

        with self._keeper.alone():
            return [] if self._keeper.books() is None else paid_models(self._keeper)

    def noised_counts(self, model: PaidModel) -> bytes:
        """The noised counts that were stored when a model was paid for."""
        from isinglass.curate.ledger.paid_models import noised_counts

        with self._keeper.alone():
            return noised_counts(self._keeper, model)

    @property
    def models(self) -> ModelTotals:
        """All models that were paid for here, and what they cost together."""
        with self._keeper.alone():
            books = self._keeper.books()
            return NO_MODELS if books is None else books.models

    @property
    def known_models(self) -> ModelTotals:
        """The models as last read, without looking again."""
        books = self._keeper.known
        return NO_MODELS if books is None else books.models

    def everywhere_budget(self) -> EverywhereBudget:
        """What may still be spent at every place at once, by a model or otherwise."""
        from isinglass.curate.ledger.replay import replayed

        with self._keeper.alone():
            agreed(self._keeper.books())
            return replayed(self._keeper.db, self._keeper.secret).room()

    def verify(self, *, head: str | None = None) -> Verified:
        """Check every entry, every spend against its cap, and the heads noted here and elsewhere.

        `head` is what `Ledger.head` returned once, kept where the ledger's holder cannot reach.
        """
        from isinglass.curate.ledger.verify import verified

        return verified(self._keeper, [] if head is None else [Head.read(head)])

    def accept(self, *, reason: str | None = None) -> str:
        """Note the head where none is noted or the note is damaged; returns it.

        Another copy, with the note that belongs to the ledger, may be in use meanwhile, and
        nothing here can tell. So the whole budget counts as spent there from now on, and
        all shares of users are void: an entry says so, with the `reason`, which is needed where
        there is anything to accept. `amend` can raise the budget, and the guarantee with it, for
        what is to be spent here. Refused where anything else is wrong, and where a head is
        noted that the ledger does not hold.
        """
        with self._keeper.alone():
            _, doubt = self._keeper.noted()
            problems = [problem for problem in self.verify().problems if problem != doubt]
            if problems:
                raise LedgerError(f"{self._keeper.db.name} is not accepted: {problems[0]}")
            if doubt is not None:
                if reason is None:
                    raise ValueError("reason must be given: why the note is lost, or not here")
                terms.spend_elsewhere(self._keeper, reason)
            return self.head()

    def head(self) -> str:
        """The newest entry's number and seal, to keep in a third place; empty before any."""
        with self._keeper.alone():
            books = self._keeper.books()
            return "" if books is None else str(Head(books.seq, books.hash))

    def backup(self, path: str | Path) -> None:
        """Copy all entries into a new SQLite file: the supported way to copy a ledger."""
        with self._keeper.alone():
            self._keeper.db.copy(Path(path).absolute())

    def summary(self) -> dict[str, Any]:
        """The contract and its changes, entries by kind, and what they cost; never a record."""
        from isinglass.curate.ledger.summary import summarized

        with self._keeper.alone():
            books = self._keeper.books()
            return summarized(self._keeper.db, agreed(books), books.version if books else 0)

    def standing(self) -> LedgerStanding:
        """What is promised to people, how much of it is spent, and who asked; never a record."""
        from isinglass.curate.ledger.standing import standing

        with self._keeper.alone():
            return standing(self._keeper)

    def close(self) -> None:
        """Let go of the ledger."""
        self._keeper.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.close()

    def _signed(
        self, books: Books | None, queries: Sequence[Query], agreement: Agreement | None, user: str
    ) -> Books:
        return terms.may_ask(books, queries, agreement or self._agreement, user)
