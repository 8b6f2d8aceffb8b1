"""Role of a column, proposed from its facts and its name, with the reason in words."""

from __future__ import annotations

from dataclasses import dataclass, field

from isinglass.table.roles import names
from isinglass.table.roles.facts import ColumnFacts, NumberFacts

ROLES = ("number", "category", "identifier", "person", "label", "date", "text", "constant")
#: Categories beyond these are too many for a 0/1 column each, unless their owner says so.
MOST_ONE_HOT = 64
#: Texts of no more different values than this may be categories without a telling name.
_MOST_CATEGORIES = 256
_FEWEST_PERSONS = 5
#: Of a column's values, what makes it one of this kind although some are not.
_NEARLY = 0.9
_READABLE = 0.8
_LONG = 8  # digits of a whole number that nobody measures
_FORMS_OF_IDENTIFIERS = (
    "UUID", "IBAN", "e-mail address", "IP address", "digest", "phone number", "long digits",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a column looks like; `low`, `high` and `seen` are facts of the table, for its owner."""

    name: str
    type: str
    distinct: int
    exact: bool
    missing: int
    proposed: str
    why: str
    decimal: str | None = None  # of numbers in texts
    first_unread: int | None = None  # row, from 0
    unread: int = 0
    ordered: bool = False
    one_hot: bool = True  # of a category: whether its values are few enough
    step: bool = False  # of numbers: whether all are whole
    low: float | None = field(default=None, repr=False)
    high: float | None = field(default=None, repr=False)
    seen: tuple[str, ...] | None = field(default=None, repr=False)


def propose(facts: ColumnFacts, *, comma: bool) -> Proposal:
    """The role of a column; `comma` says how numbers are written that could be read both ways."""
    mark = _mark(facts, comma)
    numbers = facts.numbers[mark or "."] if _is_numeric(facts, mark) else None
    role, why = _role(facts, numbers)
    written = facts.is_text and not (facts.is_csv and facts.plain)
    in_text = written and numbers is not None and role == "number"
    if in_text:
        why += "; " + _as_written(facts, mark or ".")
    kind = _type(facts, numbers)
    if facts.is_date or facts.forms["date"] >= _NEARLY * max(facts.known, 1):
        numbers_of_order: NumberFacts | None = facts.numbers["."]
    else:
        numbers_of_order = numbers
    used = role == "number" and numbers is not None and numbers.read > 0
    return Proposal(
        facts.name, kind, facts.values.different, facts.values.exact, facts.missing, role, why,
        decimal=mark if in_text else None,
        first_unread=numbers.first_unread if in_text and numbers is not None else None,
        unread=numbers.unread if in_text and numbers is not None else 0,
        ordered=numbers_of_order is not None and numbers_of_order.ordered,
        one_hot=facts.values.exact and facts.values.different <= MOST_ONE_HOT,
        step=used and numbers is not None and numbers.whole,
        low=float(numbers.low) if used and numbers is not None else None,
        high=float(numbers.high) if used and numbers is not None else None,
        seen=tuple(sorted(facts.seen)) if role == "category" and facts.seen else None,
    )  # fmt: skip


def could_be_comma(facts: ColumnFacts) -> int:
    """1 where numbers can only be read with a comma, -1 where only with a point, else 0."""
    if not facts.is_text or not facts.known:
        return 0
    point, comma = facts.numbers["."].read, facts.numbers[","].read
    enough = _READABLE * facts.known
    if max(point, comma) < enough or point == comma:
        return 0
    return 1 if comma > point else -1


def _mark(facts: ColumnFacts, comma: bool) -> str | None:
    """The decimal mark by which most of a text column's values are numbers."""
    if not facts.is_text or not facts.known:
        return None
    found = {mark: n.read for mark, n in facts.numbers.items()}
    best = max(found.values())
    if best < _READABLE * facts.known or len(facts.signs) > 1:
        return None
    if found["."] == found[","]:
        return "," if comma and not facts.plain else "."
    return "." if found["."] > found[","] else ","


def _is_numeric(facts: ColumnFacts, mark: str | None) -> bool:
    from isinglass.table.columns import is_numeric

    if not facts.is_text:
        return is_numeric(facts.kind)
    dates = facts.forms["date"] + facts.forms["leading zero"]
    return mark is not None and dates < _READABLE * max(facts.known, 1)


def _type(facts: ColumnFacts, numbers: NumberFacts | None) -> str:
    import pyarrow as pa

    kind = facts.kind
    if pa.types.is_boolean(kind):
        return "true/false"
    if facts.is_date or facts.forms["date"] >= _NEARLY * max(facts.known, 1):
        return "date"
    if numbers is not None:
        if facts.is_text and not (facts.is_csv and facts.plain):
            return "number as text"
        return "whole number" if numbers.whole and numbers.read else "number"
    if facts.is_text:
        return "text"
    return "bytes" if "binary" in str(kind) else "nested"


def _as_written(facts: ColumnFacts, mark: str) -> str:
    other = {".": "point", ",": "comma"}[mark]
    signs = " and a currency beside it" if facts.signs else ""
    how = "" if not facts.is_csv and facts.plain else f" with a decimal {other}{signs}"
    return f"text{how}"


def _role(facts: ColumnFacts, numbers: NumberFacts | None) -> tuple[str, str]:
    name, values, known = facts.name, facts.values, facts.known
    if not known:
        return "constant", "no value at all"
    if values.exact and values.different == 1:
        return "constant", "one value only" + (", or none" if facts.missing else "")
    if is_row_count(name, numbers):
        return "identifier", "counts the rows"
    two = values.exact and values.different == 2
    if names.names_label(name) and two:
        how = "0 and 1" if numbers is not None and numbers.zero_one else "two values"
        if facts.is_text or numbers is None or numbers.zero_one:
            return "label", f"{how} under a name that says what is to be found"
    if facts.is_date or facts.forms["date"] >= _NEARLY * known:
        return "date", "dates"
    if facts.forms["time of day"] >= _NEARLY * known:
        return "date", "times of the day"
    for form in _FORMS_OF_IDENTIFIERS:
        if facts.forms[form] >= _NEARLY * known and (numbers is None or numbers.whole):
            return _identifier(facts, f"written like {_an(form)}")
    if facts.is_text and names.names_personal(name):
        return "identifier", "named like people's names or addresses"
    if names.names_identifier(name) and (numbers is None or numbers.whole):
        few = values.exact and values.different <= 2 and not facts.is_text
        if not few:
            return _identifier(facts, "named like an identifier")
    if numbers is not None:
        return _number(facts, numbers)
    if facts.is_text:
        return _text(facts)
    return "text", "holds neither numbers nor text"


def is_row_count(name: str, numbers: NumberFacts | None) -> bool:
    """Whether a column counts the rows, as an index does; short columns only by name."""
    if numbers is None or not numbers.counts_rows or numbers.unread:
        return False
    return names.is_index_name(name) or numbers.read >= 50


def _identifier(facts: ColumnFacts, why: str) -> tuple[str, str]:
    values = facts.values
    repeats = _FEWEST_PERSONS <= values.different <= facts.known / 2 and values.share_repeated > 0.5
    if repeats and names.names_person(facts.name):
        return "person", f"{why}, and repeats"
    if values.exact and values.different == facts.known:
        return "identifier", f"{why}, all different"
    return "identifier", why


def _number(facts: ColumnFacts, numbers: NumberFacts) -> tuple[str, str]:
    values = facts.values
    if numbers.whole:
        if names.names_code(facts.name) and not _is_flag(facts, numbers):
            few = values.exact and values.different <= _MOST_CATEGORIES
            if few or values.different < facts.known / 2:
                return "category", "whole numbers named like codes"
        least = min(abs(numbers.low), abs(numbers.high))
        all_differ = values.different >= _NEARLY * facts.known and facts.known >= 50
        if least >= 10 ** (_LONG - 1) and all_differ and not numbers.rising:
            return "identifier", "long whole numbers, nearly all different"
    if _is_flag(facts, numbers):
        return "number", "0 and 1"
    return "number", "whole numbers" if numbers.whole else "with decimals"


def _is_flag(facts: ColumnFacts, numbers: NumberFacts) -> bool:
    return numbers.zero_one and facts.values.different <= 2


def _text(facts: ColumnFacts) -> tuple[str, str]:
    values, known = facts.values, facts.known
    if len(facts.signs) > 1 and max(n.read for n in facts.numbers.values()) >= _READABLE * known:
        return "text", "amounts in several currencies, which are not one number"
    few = values.exact and values.different <= min(_MOST_CATEGORIES, max(2, known // 5))
    if few and (facts.forms["prose"] < known / 2 or values.different <= _MOST_CATEGORIES // 8):
        return "category", "few different texts"
    if values.different >= _NEARLY * known:
        if facts.forms["prose"] >= 0.3 * known or facts.length > 40 * known:
            return "text", "free text, nearly all different"
        return "identifier", "short texts, nearly all different"
    if names.names_code(facts.name) or facts.forms["leading zero"] >= _NEARLY * known:
        return "category", "codes that repeat"
    if facts.forms["prose"] < 0.1 * known and facts.length <= 24 * known:
        if values.different <= known / 20:
            return "category", "short texts that repeat"
        return "identifier", "short texts, many of them different"
    return "text", "free text"


def _an(form: str) -> str:
    if form == "long digits":
        return "numbers of 12 and more digits"
    return f"{'an' if form[0] in 'eI' else 'a'} {form}"
