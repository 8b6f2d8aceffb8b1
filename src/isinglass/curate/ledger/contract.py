"""Contract of a ledger: the settings that its first use fixes."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

from isinglass.curate.ledger.model_spend import FEMTO, delta_text
from isinglass.curate.query import Query
from isinglass.epsilon import MOST, text
from isinglass.errors import LedgerError
from isinglass.messages import spell_call

#: the account of whoever keeps the table; every other name is an end user's
CURATOR = "curator"


@dataclass(frozen=True, slots=True)
class Contract:
    """The terms under which spends of one ledger may be added up.

    Prices only add up in one space, so columns, scaling and metric are fixed; what all answers
    together promise is as weak as the weakest query, so for sensitive privacy the least k, the
    largest beta and the least r are too. A question whose own `rule` says which records are
    sensitive cannot be compared with others: it is then the only sensitive one, at one beta and
    r. `cap` and `user_cap` are millionths of epsilon for one place.

    An end user spends from a share of the cap that is theirs alone: `shares`, by name. What they
    are told then follows from their own queries, and no two accounts can spend more than the cap
    together. `elsewhere` is what another copy of the ledger may spend at any place. What is left
    of the cap is the curator's.

    Models (`Ledger.charge_model`) may also spend delta, up to `delta_cap` in parts of 1e-15. Where
    one was the ledger's first use, the contract has no distance, columns and modes, until the first
    question completes it.
    """

    cap: int
    modes: tuple[str, ...]
    columns: tuple[str, ...]
    metric: dict[str, Any]
    scaling: dict[str, Any] | None = None
    unit: str = "record"
    records_per_person: int = 1
    user_cap: int | None = None
    k_min: int | None = None
    beta_max: int | None = None
    r_min: float | None = None
    rule: str | None = None
    also_released: bool = False
    shares: dict[str, int] = field(default_factory=dict)
    elsewhere: int = 0
    delta_cap: int = 0
    delta_elsewhere: int = 0

    def to_json(self) -> dict[str, Any]:
        """As the ledger keeps it; terms that came later are left out where they say nothing."""
        facts = asdict(self) | {"modes": list(self.modes), "columns": list(self.columns)}
        return {k: v for k, v in facts.items() if v or k not in _LATER}

    @classmethod
    def from_json(cls, facts: dict[str, Any]) -> Contract:
        """As the ledger kept it."""
        lists = {name: tuple(facts[name]) for name in ("modes", "columns")}
        return cls(**(facts | lists))

    @property
    def curators(self) -> int:
        """What the curator may spend at one place: the cap less what is others'."""
        return self.cap - self.elsewhere - sum(self.shares.values())

    @property
    def complete(self) -> bool:
        """Whether the distance and all that goes with it is fixed."""
        return bool(self.metric)

    @property
    def sensitive(self) -> bool:
        """Whether it allows questions that promise something to sensitive records only."""
        return (
            self.beta_max is not None
            and self.r_min is not None
            and ((self.k_min is None) != (self.rule is None))
        )

    def refuse_unsound(self) -> None:
        """Refuse terms that no ledger may begin with."""
        refuse_cap("cap", self.cap)
        if self.user_cap is not None:
            refuse_cap("user_cap", self.user_cap)
        if self.shares or self.elsewhere or self.delta_elsewhere:
            raise ValueError("shares and elsewhere must be left out of a new ledger's contract")
        if self.delta_cap:
            _refuse_delta(self.delta_cap)
        _refuse_part("records_per_person", self.records_per_person)
        terms = (self.k_min, self.beta_max, self.r_min, self.rule)
        if any(term is not None for term in terms) and not self.sensitive:
            raise ValueError("k_min, beta_max and r_min must be given together")
        for name in self.modes:
            if known_sensitive(name) and (not self.sensitive or self.rule not in (None, name)):
                raise ValueError(
                    f"modes may allow {name} only where the ledger's first use is sensitive, whose "
                    f"k, beta and r the contract then fixes, got {', '.join(self.modes)}"
                )

    def completed(self, asked: Contract) -> Contract:
        """These terms with what the first question fixes; all others are as they were."""
        if self.complete or not asked.complete:
            raise LedgerError("the ledger's contract is completed once, by the first question")
        if asked.unit != self.unit:
            raise LedgerError(f"the ledger's contract fixes another {_CLAUSES['unit']}")
        self._refuse_amendable(asked)
        if self.user_cap is not None or self.shares:
            self._refuse_user_cap(asked)
        others = ("shares", "elsewhere", "delta_cap", "delta_elsewhere")
        return replace(asked, **{name: getattr(self, name) for name in others})

    def refuse_model_terms(self, asked: Contract) -> None:
        """Refuse what a model's terms say otherwise: the budget, delta, people, and releases."""
        self._refuse_amendable(asked)
        if asked.delta_cap != self.delta_cap:
            raise LedgerError(
                f"the ledger's contract fixes a cap of delta of {delta_text(self.delta_cap)}, got "
                f"{delta_text(asked.delta_cap)}"
                + _hint(asked.delta_cap > self.delta_cap, delta_cap=asked.delta_cap)
            )

    def amended(
        self,
        *,
        cap: int | None = None,
        records_per_person: int | None = None,
        also_released: bool | None = None,
        delta_cap: int | None = None,
        shares: dict[str, int] | None = None,
        elsewhere: int | None = None,
    ) -> Contract:
        """Weaker terms: a larger budget, more records of a person, a release beside the answers.

        Or terms about who spends what: new or larger shares of end users; or all of the cap may be
        spent elsewhere, and there is no share any more.
        """
        changes: dict[str, Any] = {}
        if cap is not None:
            refuse_cap("cap", cap, above=self.cap)
            changes["cap"] = cap
        if records_per_person is not None:
            _refuse_part("records_per_person", records_per_person, above=self.records_per_person)
            changes["records_per_person"] = records_per_person
        if also_released is not None:
            if also_released is not True or self.also_released:
                raise ValueError(
                    "also_released can only become True where it was False, "
                    f"got {also_released} where it was {self.also_released}"
                )
            changes["also_released"] = True
        if delta_cap is not None:
            _refuse_delta(delta_cap, above=self.delta_cap)
            changes["delta_cap"] = delta_cap
        if shares is not None:
            changes["shares"] = self._with_shares(shares)
        if elsewhere is not None:
            if elsewhere != self.cap:
                raise ValueError(f"elsewhere must be the cap, {self.cap}, got {elsewhere}")
            changes |= {"elsewhere": elsewhere, "shares": {}, "delta_elsewhere": self.delta_cap}
        if not changes:
            raise ValueError(
                "cap, records_per_person, also_released or delta_cap must be given, got none"
            )
        return replace(self, **changes)

    def _with_shares(self, given: dict[str, int]) -> dict[str, int]:
        for user, share in given.items():
            refuse_cap("share", share, above=self.shares.get(user, 0))
            if user == CURATOR:
                raise ValueError("user must not be the curator, who has what nobody else was given")
            if self.user_cap is not None and share > self.user_cap:
                raise ValueError(
                    f"share must be at most the contract's budget for a user, "
                    f"{text(self.user_cap)}, got {text(share)}"
                )
        shares = self.shares | given
        if sum(shares.values()) > self.cap - self.elsewhere:
            left = max(0, self.curators + sum(self.shares.get(user, 0) for user in given))
            raise ValueError(
                f"share must be at most what is left of the budget, {text(left)}, "
                f"got {text(sum(given.values()))}"
            )
        return shares

    def refuse_stranger(self, user: str) -> None:
        """Refuse an end user who was given no share of the budget."""
        if user != CURATOR and user not in self.shares:
            raise LedgerError(
                "the user has no share of this ledger's budget; the curator gives one, once: "
                f"{spell_call('Ledger.admit')}"
            )

    def refuse_query(self, query: Query) -> None:
        """Refuse a query outside these terms: spends only add up to the promise within them."""
        if query.mode not in self.modes:
            self._refuse_modes((query.mode,))
        if query.sensitive or known_sensitive(query.mode):
            rule = query.mode if query.k is None else None
            self._refuse_weaker(query.k, query.beta, query.r, rule)

    def refuse(self, asked: Contract) -> None:
        """Refuse terms that differ from these, or are weaker; say which and what to do.

        Fewer modes are no difference, and neither are stricter terms of sensitive privacy. Terms
        are made weaker by an entry of its own, never by asking.
        """
        for clause, named in _CLAUSES.items():
            if getattr(asked, clause) != getattr(self, clause):
                raise LedgerError(
                    f"the ledger's contract fixes another {named}; ask as it says, or open a "
                    "ledger for a table that shares no people with this one"
                )
        self._refuse_amendable(asked)
        self._refuse_user_cap(asked)
        self._refuse_modes(asked.modes)
        if asked.beta_max is not None:
            self._refuse_weaker(asked.k_min, asked.beta_max, asked.r_min, asked.rule)

    def _refuse_amendable(self, asked: Contract) -> None:
        if asked.cap != self.cap:
            raise LedgerError(
                f"the ledger's contract fixes a budget of {text(self.cap)} a place, got "
                f"{text(asked.cap)}" + _hint(asked.cap > self.cap, cap=asked.cap)
            )
        self.refuse_records(asked.records_per_person)
        if asked.also_released != self.also_released:
            no = "" if self.also_released else "not "
            raise LedgerError(
                f"the ledger's contract says that the table has {no}left as a release"
                + _hint(asked.also_released, also_released=True)
            )

    def refuse_records(self, theirs: int) -> None:
        """Refuse another number of records per person."""
        ours = self.records_per_person
        if theirs != ours:
            raise LedgerError(
                f"the ledger's contract says {ours} record{'s' * (ours > 1)} per person, got "
                f"{theirs}" + _hint(theirs > ours, records_per_person=theirs)
            )

    def _refuse_user_cap(self, asked: Contract) -> None:
        if asked.user_cap != self.user_cap:
            ours = "none" if self.user_cap is None else text(self.user_cap)
            raise LedgerError(f"the ledger's contract fixes another budget for a user: {ours}")

    def _refuse_modes(self, asked: tuple[str, ...]) -> None:
        if new := sorted(set(asked) - set(self.modes)):
            raise LedgerError(
                f"the ledger's contract does not allow mode {', '.join(new)}, only "
                f"{', '.join(self.modes)}"
            )

    def _refuse_weaker(
        self, k: int | None, beta: int | None, r: float | None, rule: str | None
    ) -> None:
        """Sensitive privacy covers records with many neighbors: more of them for a larger k."""
        if not self.sensitive:
            raise LedgerError(
                "the ledger's contract allows no sensitive question: its first use fixed no k, "
                "beta and r of sensitive privacy, and promises every record the same"
            )
        if rule != self.rule or (rule and (beta, r) != (self.beta_max, self.r_min)):
            by = f"k at least {self.k_min}" if self.rule is None else f"the rule of {self.rule}"
            raise LedgerError(
                f"the ledger's contract promises sensitive privacy by {by}, beta "
                f"{self.beta_max} and r {self.r_min}, and the question has another rule"
            )
        for name, side, ours, theirs in (
            ("k", "at least", self.k_min, k),
            ("beta", "at most", self.beta_max, beta),
            ("r", "at least", self.r_min, r),
        ):
            if ours is None or theirs is None:
                continue
            if theirs > ours if side == "at most" else theirs < ours:
                raise LedgerError(
                    f"the ledger's contract promises sensitive privacy with {name} {side} {ours}, "
                    f"got {theirs}, which protects fewer records"
                )


@dataclass(frozen=True, slots=True)
class Agreement:
    """What a signature stands for: a table, by its HMAC under the ledger's secret.

    `first` says whether it wrote the contract.
    """

    first: bool
    table: str


def known_sensitive(mode: str) -> bool:
    """Whether a mode's very name says that it is sensitive."""
    return mode == "sensitive" or mode.startswith("compiled ")


def refuse_cap(name: str, cap: int, *, above: int = 0) -> None:
    """A budget is a whole number of millionths."""
    if type(cap) is not int or not above < cap <= MOST:
        raise ValueError(
            f"{name} must be a whole number of millionths of epsilon above {above} and at most "
            f"{MOST}, got {cap}"
        )


def _refuse_delta(delta: int, *, above: int = 0) -> None:
    if type(delta) is not int or not above < delta < FEMTO:
        raise ValueError(
            f"delta_cap must be a whole number of parts of 1e-15 above {above} and below {FEMTO}, "
            f"got {delta}"
        )


def _refuse_part(name: str, value: int, *, above: int = 0) -> None:
    if type(value) is not int or value <= above:
        raise ValueError(f"{name} must be a whole number > {above}, got {value}")


def _hint(weaker: bool, **term: int) -> str:
    """What to do about terms that differ."""
    if not weaker:
        return "; ask as it says"
    call = spell_call("Ledger.amend", **term, reason=...)
    return f"; {call} makes the promise weaker"


# Terms that came later: where they say nothing, a contract is written as it was before.
_LATER = ("shares", "elsewhere", "delta_cap", "delta_elsewhere")
_CLAUSES = {
    "columns": "list of columns, or order of them",
    "metric": "distance",
    "scaling": "scaling of the columns",
    "unit": "unit of privacy",
}
