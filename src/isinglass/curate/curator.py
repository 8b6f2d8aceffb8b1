"""Curator: answers queries about single records and charges for each."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Never, Self

import numpy as np
from numpy.typing import ArrayLike

from isinglass.curate.guarantee import Guarantee
from isinglass.curate.ledger.batch import MicroPrice
from isinglass.curate.ledger.contract import CURATOR
from isinglass.curate.ledger.ledger import Ledger
from isinglass.curate.mechanisms.mechanism import Mechanism, bounded_mechanism
from isinglass.curate.padding import Deadline
from isinglass.curate.query import Answer, Price, Query
from isinglass.curate.questions.base import Question
from isinglass.curate.questions.neighbor_counter import NeighborCounter
from isinglass.curate.records import Array
from isinglass.curate.setup import contract_for, first_terms, question_for, table_in_space
from isinglass.curate.space import Space
from isinglass.epsilon import MICRO, micro, text
from isinglass.errors import BudgetError, CuratorError
from isinglass.threads import as_scikit_learn

if TYPE_CHECKING:
    from isinglass.curate.mechanisms.compiler import CompiledMechanism

__all__ = ["Answer", "Curator", "Price"]

# Mechanisms, and promises, that are kept: one for each price asked lately.
_KEPT = 64


class Curator:
    r"""Answer whether a record is an anomaly in a private table, for a price in epsilon.

    Guarantee: as each `Answer` says. In modes "sparse" and "dp" every answer is
    epsilon-differentially private for every record of the table, in mode "sensitive" for every
    sensitive one. All answers of one ledger together stay within `budget`: for every record if
    its contract allows "sparse" and "dp" only, and else for those records that its weakest
    sensitive question would cover. Beside the answer itself, nothing that comes back depends on
    the table: prices, what is left, refusals and errors follow from the queries alone, and with
    `pad` the time of leaving from their number, so long as counting ends before the deadline.
    What an end user gets back follows from their own queries, and tells nothing of others'.

    Utility: about a place with few or with many records within `r` the answer errs rarely, and
    the less the larger epsilon is; near `beta` it is close to a fair coin.

    Weakness: a person with several records loses as many times the budget. Rows of the table
    must not be asked about for others to see: who asks about what is not hidden. The machine
    that runs this, and whoever holds the ledger, see the queries.

    Parameters
    ----------
    table : array, frame or path
        The private table; finite numbers only. It is read once and never shown.
    beta : float
        A place is sparse with at most so many records within `r`; a rule known in advance, never
        read off the table.
    r : float
        The radius, in the units of the space.
    budget : number or str
        The most that is ever spent at one place, in epsilon. None: as the ledger's contract says.
    ledger : Ledger, path or URL
        Where spends are kept; a path is created on first use. There is no default.
    mode : {"sparse", "sensitive", "dp"}, Question or mechanism, default="sparse"
        The question: is the place sparse; or is the record present and an anomaly, with
        sensitive or with differential privacy. A `Question` brings its own `beta` and `r`. What
        `compile_mechanism` made brings its price too, the only `epsilon` to ask at.
    k : int, default=1
        Of mode "sensitive".
    count_query : bool, default=True
        Of mode "sparse": count the record asked about as one more.
    space : Space or None
        Columns, scaling, projection and distance, declared in advance. Or instead of it `bounds`,
        `metric`, `p` and `weights`, as `Space.declare` takes them. One that was planned on this
        table, or on records of it, is refused here, to the owner and before anything is asked.
    columns : sequence of str or None
        Names for the columns of an array; of a frame or a file, those to use, in this order.
    records_per_person : int or None
        How many records of the table may belong to one person; printed in every guarantee. None:
        as the ledger's contract says, 1 in a new one.
    user_budget : number, str or None
        The most one user may spend at one place, below `budget`. None: as the ledger's contract
        says, no such limit in a new one. An end user, anyone but "curator", asks once
        `Ledger.admit` has set a share of the budget apart for them.
    modes : sequence of str or None
        The modes a new ledger's contract allows; None: `mode` alone.
    also_released : bool or None
        Whether the table also left as a release, which the guarantee then says. None: as the
        ledger's contract says, False in a new one.
    new_version : str or None
        The table has changed since the ledger saw it, and why: spends stay, stored answers go.
    pad : bool or Deadline, default=True
        Let answers wait for a deadline that depends on their number alone. False: the guarantee
        says "timing not covered".
    n_jobs : int or None
        Threads for counting; -1 means all cores, None means one, as in scikit-learn.

    References
    ----------
    H. Asif, P. A. Papakonstantinou, J. Vaidya: How to accurately and privately identify
    anomalies. CCS 2019.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> curator = ig.Curator(X, beta=5, r=0.3, budget=1, ledger="ledger.db", bounds="scaled")
    >>> answers = curator.ask([[0.5, 0.5, 0.5], [9.0, 9.0, 9.0]], epsilon="0.25")
    >>> [answer.left for answer in answers]
    [0.75, 0.75]
    """

    #: whether this was the ledger's first use, which wrote its contract
    created: bool

    def __init__(
        self,
        table: Any,
        beta: float | None = None,
        r: float | None = None,
        budget: Any = None,
        ledger: Ledger | str | Path | None = None,
        *,
        mode: str | Question | CompiledMechanism = "sparse",
        k: int = 1,
        count_query: bool = True,
        space: Space | None = None,
        bounds: Any = None,
        metric: str | None = None,
        p: float | None = None,
        weights: ArrayLike | None = None,
        columns: Sequence[str] | None = None,
        records_per_person: int | None = None,
        user_budget: Any = None,
        modes: Sequence[str] | None = None,
        also_released: bool | None = None,
        new_version: str | None = None,
        pad: bool | Deadline = True,
        n_jobs: int | None = -1,
    ) -> None:
        if ledger is None:
            raise CuratorError(
                "ledger must be given: every answer is paid for, and the spend is kept there"
            )
        self.question = question_for(mode, beta, r, k, count_query)
        # `question_for` refuses a mechanism of another kind.
        self._compiled = mode if isinstance(mode, Mechanism) else None
        cap = None if budget is None else micro(budget, "budget")
        user_cap = None if user_budget is None else micro(user_budget, "user_budget")
        places, self.space = table_in_space(
            table, columns, space, bounds=bounds, metric=metric, p=p, weights=weights
        )
        self._neighbors = NeighborCounter(places, self.space.metric, n_jobs=as_scikit_learn(n_jobs))
        self._deadline = pad if isinstance(pad, Deadline) else Deadline() if pad else None
        self._random: Callable[[int], bytes] = secrets.token_bytes
        self._mechanisms: dict[str, Mechanism] = {}
        self._promises: dict[int, Guarantee] = {}
        self._own = not isinstance(ledger, Ledger)
        self.ledger = ledger if isinstance(ledger, Ledger) else Ledger(ledger)
        try:
            agreed = self.ledger.contract if self.ledger.signed else first_terms(cap)
            contract = contract_for(
                self.question,
                self.space,
                cap=agreed.cap if cap is None else cap,
                user_cap=agreed.user_cap if user_cap is None else user_cap,
                modes=modes,
                records_per_person=(
                    agreed.records_per_person if records_per_person is None else records_per_person
                ),
                also_released=agreed.also_released if also_released is None else also_released,
            )
            self._budget = text(contract.cap)
            self._agreement = self.ledger.sign(
                contract, self.space.metric, self._neighbors.digest(), new_version=new_version
            )
            self.created = self._agreement.first
            self._terms, self._models = self.ledger.contract, self.ledger.known_models
            self._warm()
        except BaseException:
            self.close()
            raise

    def _warm(self) -> None:
        """Load what counting and pricing need: the first answer is to take no longer than others.

        Looks at the origin, whose counts are thrown away, and whose price is not paid.
        """
        mechanism = self._compiled or bounded_mechanism(self.question, "0.000001")
        for n in (1, 32):
            origin = np.zeros((n, self.space.width))
            self._neighbors.within(origin, 1.0, 1)
            with suppress(BudgetError):
                self._price(self._queries(origin, mechanism), fresh=True)

    def ask(
        self,
        records: Any,
        *,
        epsilon: Any,
        key: str | None = None,
        fresh: bool = False,
        user: str = "curator",
    ) -> Answer | list[Answer]:
        """Answer about one record (an `Answer`), or about several (a list of them).

        Several are one transaction: priced in order, all or none, identical ones drawn once. A
        query that was answered before is answered from the ledger, free of charge, unless
        `fresh`, which draws anew and pays. The same `key` of the same user returns the very
        answers of its first use. `epsilon` is each answer's price, times the question's
        `lipschitz`. A query is never compared with the table before it is paid for.
        """
        places, single = self._places(records)
        mechanism = self._mechanism(epsilon)
        queries, each = self._queries(places, mechanism), mechanism.micro
        self._guarantee(mechanism)  # what could fail does so before anything is paid for

        def draw(asked: Sequence[Query]) -> list[bool]:
            one = len(asked) == 1
            chosen = asked[0].place[np.newaxis] if one else np.stack([q.place for q in asked])
            found = self.question.look(self._neighbors, chosen, mechanism.cap).tolist()
            return [mechanism.answer(*counts, draw=self._random) for counts in found]

        with self._deadline.kept(len(queries)) if self._deadline else nullcontext() as leaving:
            answered = self.ledger.answer(
                queries, draw, user=user, key=key, fresh=fresh, agreement=self._agreement
            )
        promise = self._guarantee(mechanism)  # by the terms that were read under the lock
        if leaving is not None and leaving.late:
            # Whoever asked saw that it was late: saying so tells nothing more.
            promise = replace(promise, timing_covered=False)
        answers = [
            Answer(
                a.anomalous, each / MICRO, a.spent / MICRO, a.left / MICRO, a.left // each, promise
            )
            for a in answered
        ]
        return answers[0] if single else answers

    def price(
        self, records: Any, *, epsilon: Any, fresh: bool = False, user: str = "curator"
    ) -> list[Price]:
        """What `ask` would cost, record by record; nothing is asked, written or spent.

        Where the batch does not fit, this raises the very `BudgetError` that `ask` would. An end
        user is told when `ask` would answer, as the time it takes depends on others' spends.
        """
        places, _ = self._places(records)
        mechanism = self._mechanism(epsilon)
        queries, each = self._queries(places, mechanism), mechanism.micro
        return [
            Price(each / MICRO, a.spent / MICRO, a.left / MICRO, a.left // each)
            for a in self._price(queries, user=user, fresh=fresh)
        ]

    def left(self, record: Any, *, epsilon: Any, user: str = "curator") -> int:
        """How many queries at this price are left at one record's place, each drawn anew."""
        places, _ = self._places(record)
        if len(places) != 1:
            raise ValueError(f"record must be one, got {len(places)}")
        mechanism = self._mechanism(epsilon)
        try:
            (found,) = self._price(self._queries(places, mechanism), user=user, fresh=True)
        except BudgetError:
            return 0
        return 1 + found.left // mechanism.micro

    def guarantee(self, epsilon: Any) -> Guarantee:
        """What an answer at this price promises; known before anything is asked."""
        _ = self.ledger.contract  # read again: somebody may have amended it
        return self._guarantee(self._mechanism(epsilon))

    @property
    def overruns(self) -> int:
        """Batches that missed their deadline: for the owner alone, a fact about the table."""
        return self._deadline.overruns if self._deadline else 0

    def _places(self, records: Any) -> tuple[Array, bool]:
        found = self.space.read(records)
        if len(found.rows) == 0:
            raise ValueError("records must be at least one, got none")
        return self.space.places(found), found.single

    def _queries(self, places: Array, mechanism: Mechanism) -> list[Query]:
        asked = self.question
        rule, price = (asked.name, asked.beta, asked.r), mechanism.micro
        rest, kind = (asked.k, asked.count_query, asked.influence), asked.privacy
        return [Query(place, *rule, price, *rest, privacy=kind) for place in places]

    def _price(self, queries: list[Query], user: str = CURATOR, **how: Any) -> list[MicroPrice]:
        waits = self._deadline if user != CURATOR else None
        with waits.kept(len(queries)) if waits else nullcontext():
            return self.ledger.price(queries, user=user, agreement=self._agreement, **how)

    def _mechanism(self, epsilon: Any) -> Mechanism:
        """The question at a price; prices are few, and each mechanism takes a moment to make."""
        if self._compiled is not None:
            if micro(epsilon) != self._compiled.micro:
                price = text(self._compiled.micro)
                raise ValueError(
                    f"epsilon must be {price}, the mechanism's own price, got {epsilon}"
                )
            return self._compiled
        # By its text: equal numbers of different kinds may be read as different decimals.
        written = f"{type(epsilon).__name__} {epsilon}"
        if written not in self._mechanisms:
            if len(self._mechanisms) >= _KEPT:
                self._mechanisms.clear()
            self._mechanisms[written] = bounded_mechanism(self.question, epsilon)
        return self._mechanisms[written]

    def _guarantee(self, mechanism: Mechanism) -> Guarantee:
        terms = self.ledger.known_contract or self._terms
        models = self.ledger.known_models
        if terms is not self._terms or models is not self._models:
            self._terms, self._models = terms, models
            self._promises.clear()
        if mechanism.micro not in self._promises:
            if len(self._promises) >= _KEPT:
                self._promises.clear()
            promise = mechanism.guarantee(
                cap=terms.cap,
                records_per_person=terms.records_per_person,
                timing_covered=self._deadline is not None,
                also_released=terms.also_released,
            )
            clauses = ("k_min", "beta_max", "r_min", "rule", "delta_cap", "delta_elsewhere")
            self._promises[mechanism.micro] = replace(
                promise, models=models, **{name: getattr(terms, name) for name in clauses}
            )
        return self._promises[mechanism.micro]

    def close(self) -> None:
        """Close the ledger, if it was opened here."""
        if self._own:
            self.ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        asked = self.question
        more = f", k={asked.k}" if asked.k is not None else ""
        return (
            f"Curator(mode={asked.name!r}, beta={asked.beta}, r={asked.r:g}{more}, "
            f"budget={self._budget}, metric={self.space.metric.name!r})"
        )

    def __reduce__(self) -> Never:
        raise TypeError("a Curator is not pickled or copied: it holds the private table")
