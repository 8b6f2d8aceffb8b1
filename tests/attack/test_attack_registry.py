"""What every attack says of itself."""

import re
import subprocess
import sys

import pytest

from isinglass.attack.base import NO_ROWS, Attack, ReleaseFacts
from isinglass.attack.knowledge import Fact, KnownPairs
from isinglass.attack.registry import ATTACKS, NEED_ROWS, story_of

every = pytest.mark.parametrize("kind", ATTACKS.values(), ids=ATTACKS)


@every
def test_an_attack_says_what_it_does_and_needs(kind):
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__.removesuffix("Attack")).lower()
    assert kind.name == words
    assert kind.story.strip(" .") == kind.story
    assert kind.story.split()[0].endswith("s")  # "the attacker reads …"
    assert all(issubclass(fact, Fact) for fact in kind.needs)
    for scenario in kind.scenarios:
        assert {*kind.needs} <= {*scenario.given}, "a scenario must give what the attack needs"


@every
def test_an_attack_that_needs_rows_does_not_begin_without(kind):
    facts = {"has_kept_columns": True, "has_public_matrix": True, "has_key": True}
    rows = ReleaseFacts(3, 3, rows_correspond=True, most_pairs=100, **facts)
    none = ReleaseFacts(3, 3, rows_correspond=False, most_pairs=100, **facts)
    hidden = ReleaseFacts(3, 3, rows_correspond=False, secret_order=True, **facts)
    assert (kind.why_not(none) == NO_ROWS) == (kind.needs_rows or kind.name == "distance")
    assert kind.why_not(hidden) != NO_ROWS
    assert (kind.why_not(rows) is None) == (kind.name != "rowless_linkage")


def test_known_pairs_are_pairs_of_rows():
    needing = {name for name, kind in ATTACKS.items() if KnownPairs in kind.needs}
    assert needing == {"known_input", "unit_pursuit", "decoding"}
    assert needing | {"linkage", "pattern_linkage", "collusion", "stolen_key"} <= NEED_ROWS


def test_the_story_of_an_attack_of_ones_own_is_the_callers():
    assert story_of("naive", "–") == ATTACKS["naive"].story
    assert story_of("mine", "–") == "–"


def test_an_attack_applies_unless_it_says_otherwise():
    class Plain(Attack):
        name = "plain"

    assert Plain.why_not(ReleaseFacts(3, 5, rows_correspond=False)) is None


def test_the_list_of_attacks_loads_no_perturbation_of_the_owner():
    code = (
        "import sys, isinglass.attack.registry\n"
        "print(*(m for m in sys.modules if m.startswith('isinglass.perturb')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
