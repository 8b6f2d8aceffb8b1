"""What an attacker knows: how facts combine, what they refuse, and that values never print."""

from __future__ import annotations

import numpy as np
import pytest

from isinglass.attack.base import Attack, all_seen, rows_of
from isinglass.attack.knowledge import (
    Colluders,
    ColumnStatistics,
    Fact,
    KeptColumns,
    Knowledge,
    KnownPairs,
    KnownRecords,
    OtherReleases,
    PopulationSample,
    PublicParameters,
    PublicTable,
    RowOrder,
    StolenKey,
)
from isinglass.errors import AttackError

SECRET = 271828.25
TABLE = np.full((2, 3), SECRET)


def every_fact():
    pairs = KnownPairs([0, 1], TABLE)
    return [
        ColumnStatistics.of(TABLE),
        PopulationSample(TABLE),
        pairs,
        PublicTable(TABLE),
        KnownRecords(TABLE),
        OtherReleases((TABLE,)),
        KeptColumns(TABLE),
        RowOrder([271828, 0]),
        PublicParameters("rotation", low=TABLE[0], high=TABLE[0], matrix=TABLE),
        Colluders((TABLE,), shared=pairs, key=TABLE),
        StolenKey(TABLE),
    ]


def test_every_kind_of_fact_is_tried_here():
    # A dataclass with slots is made twice, so classes are compared by name.
    kinds = {kind.__name__ for kind in Fact.__subclasses__()}
    assert {type(fact).__name__ for fact in every_fact()} == kinds


@pytest.mark.parametrize("fact", every_fact(), ids=lambda f: type(f).__name__)
def test_a_fact_never_prints_its_values(fact):
    known = Knowledge(fact)
    for text in (repr(fact), str(fact), fact.describe(), repr(known), known.describe()):
        assert "271828" not in text
    assert fact.describe()


def test_facts_combine_and_are_found_again():
    sample, pairs = PopulationSample(TABLE), KnownPairs([1, 0], TABLE)
    known = sample | pairs | PublicParameters("tanh")
    assert known.find(PopulationSample) is sample
    assert known.need(KnownPairs) is pairs
    assert KnownPairs in known
    assert StolenKey not in known
    assert known.find(StolenKey) is None
    assert known.describe() == (
        "a sample of 2 records, 2 known pairs, the public parameters of tanh"
    )


def test_the_later_of_two_facts_of_a_kind_counts():
    first, second = PopulationSample(TABLE), PopulationSample(TABLE[:1])
    assert (first | second).find(PopulationSample) is second
    assert (Knowledge(first) | Knowledge(second)).find(PopulationSample) is second
    with pytest.raises(ValueError, match="at most one fact of each kind"):
        Knowledge(first, second)


def test_combining_changes_neither_side():
    known = Knowledge(PopulationSample(TABLE))
    assert KnownPairs in (known | KnownPairs([0, 1], TABLE))
    assert KnownPairs not in known


def test_a_single_fact_is_knowledge():
    pairs = KnownPairs([0, 1], TABLE)
    known = Knowledge(pairs)
    assert Knowledge.of(pairs).need(KnownPairs) is pairs
    assert Knowledge.of(known) is known
    assert Knowledge().describe() == "nothing but the release"


def test_a_missing_fact_is_named():
    with pytest.raises(AttackError, match="needs KnownPairs"):
        Knowledge().need(KnownPairs)


def test_column_statistics_are_the_textbook_ones():
    X = np.array([[1.0, 5.0], [2.0, 5.0], [6.0, 5.0]])
    found = ColumnStatistics.of(X)
    np.testing.assert_allclose(found.mean, [3, 5])
    np.testing.assert_allclose(found.deviation, [np.sqrt(7), 0])
    np.testing.assert_allclose(found.low, [1, 5])
    np.testing.assert_allclose(found.high, [6, 5])
    # ((-2)^3 + (-1)^3 + 3^3) / 3 = 6
    np.testing.assert_allclose(found.skewness, [6 / 7**1.5, 0])


@pytest.mark.parametrize("kind", [PopulationSample, PublicTable, KnownRecords, KeptColumns])
def test_a_table_has_two_dimensions(kind):
    with pytest.raises(ValueError, match="one record a row"):
        kind(np.zeros(3))


def test_pairs_have_a_row_number_each():
    with pytest.raises(ValueError, match="one row number for each of the 2 records"):
        KnownPairs([0], TABLE)


@pytest.mark.parametrize("fact", every_fact(), ids=lambda f: type(f).__name__)
def test_facts_are_frozen(fact):
    with pytest.raises((AttributeError, TypeError)):
        setattr(fact, fact.__slots__[0], None)


def test_all_that_left_stands_side_by_side():
    Z = np.arange(4.0).reshape(2, 2)
    known = OtherReleases((Z + 10, Z + 20)) | KeptColumns(np.array([[7.0], [8.0]]))
    expected = np.column_stack([Z, Z + 10, Z + 20, [7, 8]])
    np.testing.assert_array_equal(all_seen(Z, known), expected)
    np.testing.assert_array_equal(all_seen(Z, Knowledge()), Z)


def test_what_left_must_have_the_same_rows():
    with pytest.raises(AttackError, match="must have the release's 2 rows, got 3"):
        all_seen(np.zeros((2, 2)), Knowledge(KeptColumns(np.zeros((3, 1)))))


@pytest.mark.parametrize("shape", [(3,), (0, 2), (2, 0)])
def test_an_empty_release_cannot_be_attacked(shape):
    with pytest.raises(AttackError, match="table with records"):
        rows_of(np.zeros(shape))


def test_a_release_must_be_finite():
    with pytest.raises(AttackError, match="not finite"):
        rows_of([[np.nan, 1.0]])


def test_attacks_say_what_they_are():
    from isinglass.attacks import ICAAttack, KnownInputAttack, NaiveAttack, SampleAttack

    found = {
        a.name: (a.needs, a.unordered)
        for a in (
            NaiveAttack,
            KnownInputAttack,
            SampleAttack,
            ICAAttack,
        )
    }
    assert found == {
        "naive": ((ColumnStatistics,), False),
        "known_input": ((KnownPairs,), False),
        "sample": ((PopulationSample,), False),
        "ica": ((ColumnStatistics,), True),
    }
    with pytest.raises(NotImplementedError):
        Attack().guess(TABLE, Knowledge())


def test_an_attack_shows_the_settings_that_are_not_the_usual_ones():
    from isinglass.attacks import ICAAttack, NaiveAttack

    assert repr(NaiveAttack()) == "NaiveAttack()"
    assert repr(ICAAttack(7, lattice=True, random_state=1)).startswith("ICAAttack(n_starts=7")


@pytest.mark.parametrize("name", ["NaiveAttack", "KnownInputAttack", "SampleAttack", "ICAAttack"])
def test_an_attack_without_its_facts_cannot_begin(name):
    from isinglass import attacks

    with pytest.raises(AttackError, match="which is not known"):
        getattr(attacks, name)().guess(np.zeros((3, 2)), Knowledge())
