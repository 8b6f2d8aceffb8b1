"""The spatial budget: no place is ever touched by more than the cap, and queries alone decide."""

import inspect
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isinglass.curate.ledger.budget import SpatialBudget, fits
from isinglass.curate.ledger.spend_index import Reach
from isinglass.curate.query import Query
from isinglass.detect.metric import METRICS, declare
from isinglass.errors import BudgetError

ONE = 10**6


def query(place, micro, r=1.0):
    place = np.atleast_1d(np.array(place, dtype=float))
    return Query(place, "sparse", 5, r, micro, influence=r)


def plane():
    return declare("euclidean", None, None, 2)


def line():
    return declare("euclidean", None, None, 1)


def ask(budget, queries, user="u"):
    """Pay if allowed, as a ledger does; whether it was."""
    try:
        budget.price(queries, user)
    except BudgetError:
        return False
    budget.add(
        [q.place for q in queries],
        [q.influence for q in queries],
        [q.micro for q in queries],
        [user] * len(queries),
    )
    return True


def touching(metric, spends, place):
    """What touches a place: the plain sum that the cap promises to bound."""
    return sum(q.micro for q in spends if metric.distance(q.place, place) <= q.influence)


@st.composite
def asked(draw, d):
    """Batches of queries with mixed radii and prices, many of them tangent."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, 60))
    kind = draw(st.sampled_from(["grid", "random", "tangent"]))
    places = rng.integers(-3, 4, size=(n, d)) * draw(st.sampled_from([1.0, 0.1, 1e-9, 1e9]))
    if kind == "random":
        places = rng.normal(size=(n, d)) * draw(st.sampled_from([1.0, 3.0]))
    unit = np.abs(places).max() / 3 or 1.0
    radii = rng.choice([0.0, 0.5, 1.0, 1.5, 2.0], size=n) * unit
    if kind == "tangent":
        places, radii = rng.normal(size=(n, d)), rng.random(n)
    radii[rng.random(n) < 0.03] = math.inf
    micro = rng.choice([1, 10, 33, 50, 99, 100, 101], size=n)
    queries = [query(p, int(e), float(r)) for p, e, r in zip(places, micro, radii, strict=True)]
    cuts = np.sort(rng.integers(0, n + 1, size=draw(st.integers(0, 10))))
    batches = [list(part) for part in np.split(np.array(queries, dtype=object), cuts) if len(part)]
    return batches, rng


@given(name=st.sampled_from(METRICS), d=st.integers(1, 3), data=st.data())
@settings(max_examples=150)
def test_no_place_in_space_is_touched_by_more_than_the_cap(name, d, data):
    weights = data.draw(st.sampled_from([None, [0.25, 2.0, 1.0], [1e-3, 1e3, 7.0]]))
    metric = declare(
        name, 2.5 if name == "minkowski" else None, None if weights is None else weights[:d], d
    )
    batches, rng = data.draw(asked(d))
    budget, paid = SpatialBudget(metric, 100), []
    for batch in batches:
        if ask(budget, batch):
            paid += batch
    if not paid:
        return
    places = np.array([q.place for q in paid])
    pairs = rng.integers(0, len(paid), size=(2, 60))
    share = rng.random((60, 1))
    spread = np.abs(places).max() + 1
    probes = np.concatenate(
        [
            places,
            places[pairs[0]] / 2 + places[pairs[1]] / 2,
            share * places[pairs[0]] + (1 - share) * places[pairs[1]],
            rng.uniform(-spread, spread, size=(20, d)),
            rng.integers(-3, 4, size=(20, d)) * (spread - 1) / 3,
        ]
    )
    assert max(touching(metric, paid, place) for place in probes) <= 100


@given(name=st.sampled_from(METRICS), data=st.data())
@settings(max_examples=150)
def test_on_a_line_every_end_of_every_interval_is_probed(name, data):
    """In one dimension the most touched place is an end of some interval, or a float beside it."""
    weight = data.draw(st.sampled_from([None, [0.3], [1e100], [1e-100]]))
    metric = declare(name, 2.5 if name == "minkowski" else None, weight, 1)
    batches, _ = data.draw(asked(1))
    budget, paid = SpatialBudget(metric, 100), []
    for one in (q for batch in batches for q in batch):
        if ask(budget, [one]):
            paid.append(one)
    unit = metric.distance([0.0], [1.0])
    for q in paid:
        half = 0.0 if math.isinf(q.influence) else q.influence / unit
        for end in (q.place[0] - half, q.place[0], q.place[0] + half):
            for place in (end, math.nextafter(end, math.inf), math.nextafter(end, -math.inf)):
                assert touching(metric, paid, [place]) <= 100


def test_a_place_nobody_asked_about_is_kept_too():
    """Queries at 1 and 3 are farther apart than r, but a record at 2 touches both."""
    budget = SpatialBudget(line(), ONE)
    assert ask(budget, [query(1, 600_000)])
    assert not ask(budget, [query(3, 600_000)])
    assert ask(budget, [query(3, 400_000)])
    assert ask(budget, [query(5, 600_000)])  # counts the one at 3 alone


def test_queries_far_apart_do_not_add_up():
    budget = SpatialBudget(plane(), ONE)
    batch = [query((3.0 * a, 3.0 * b), ONE) for a in range(40) for b in range(40)]
    priced = budget.price(batch, "u")
    assert not priced.spent_before.any()
    assert not priced.left_after.any()
    assert ask(budget, batch)
    assert all(not ask(budget, [query(q.place, 1)]) for q in batch[::97])


def test_a_batch_is_priced_in_order_and_all_or_nothing():
    budget = SpatialBudget(line(), ONE, 900_000)
    budget.add([[0.0]], [1.0], [100_000], ["v"])
    batch = [query(0, 200_000), query(1, 300_000), query(9, 800_000), query(0.5, 400_000)]
    priced = budget.price(batch, "u")
    assert priced.spent_before.tolist() == [100_000, 300_000, 0, 600_000]
    # What is left once all are paid for: around 0, 0.5 and 1 the cap is used up; 9: the user's own.
    assert priced.left_after.tolist() == [0, 0, 100_000, 0]
    with pytest.raises(BudgetError) as refusal:
        budget.price([*batch, query(0, 1), query(50, 1)], "u")
    assert refusal.value.row == 4
    assert budget.spent([[0.0]], [1.0]).tolist() == [100_000]
    assert len(budget) == 1
    empty = budget.price([], "u")
    assert empty.spent_before.shape == empty.left_after.shape == (0,)


def test_what_a_batch_leaves_is_what_the_next_query_finds():
    rng = np.random.default_rng(4)
    budget = SpatialBudget(plane(), 30 * ONE, 25 * ONE)
    budget.add(rng.uniform(0, 6, (50, 2)), np.ones(50), np.full(50, 1000), ["u", "v"] * 25)
    batch = [query(place, 1 + i) for i, place in enumerate(rng.uniform(0, 6, (300, 2)))]
    priced = budget.price(batch, "u")
    columns = [
        np.array(c) for c in zip(*((q.place, q.influence, q.micro) for q in batch), strict=True)
    ]
    budget.add(*columns, ["u"] * len(batch))
    after = [budget.price([query(q.place, 0)], "u").left_after[0] for q in batch]
    assert priced.left_after.tolist() == after


def test_a_users_spends_survive_an_interrupt_while_they_are_indexed(monkeypatch):
    budget = SpatialBudget(line(), 10 * ONE, ONE)
    budget.add([[0.0]], [1.0], [900_000], ["u"])
    extend = Reach.extend

    def interrupted(self, *spends):
        raise KeyboardInterrupt

    monkeypatch.setattr(Reach, "extend", interrupted)
    with pytest.raises(KeyboardInterrupt):
        budget.price([query(0, 900_000)], "u")
    monkeypatch.setattr(Reach, "extend", extend)
    with pytest.raises(BudgetError):
        budget.price([query(0, 900_000)], "u")


def test_a_refusal_keeps_asked_spent_and_left_apart_and_shows_no_place():
    budget = SpatialBudget(plane(), ONE)
    here = (7654321.25, -1234567.5)
    budget.add([here], [1.0], [812_500], ["u"])
    with pytest.raises(BudgetError) as refusal:
        budget.price([query(here, 100_000), query(here, 200_000)], "u")
    error = refusal.value
    assert (error.row, error.asked, error.spent, error.left) == (1, 200_000, 912_500, 87_500)
    assert str(error) == (
        "row 1 of the batch asked for epsilon 0.2, but around this record 0.9125 of the table's "
        "budget of 1 is already used (0.1 of it by earlier rows of this batch) and 0.0875 is left; "
        "a query of epsilon 0.0875 or less still fits here; the batch was refused whole: nothing "
        "was spent"
    )
    assert "7654321" not in str(error)
    assert ask(budget, [query(here, 187_500)])
    with pytest.raises(BudgetError, match="no query fits here any more") as refusal:
        budget.price([query(here, 1)], "u")
    assert (refusal.value.spent, refusal.value.left) == (ONE, 0)


def test_more_than_the_cap_is_refused_the_same_way():
    with pytest.raises(BudgetError, match=r"asked for epsilon 1\.5, but .* 0 of the ") as refusal:
        SpatialBudget(line(), ONE).price([query(0, 1_500_000)], "u")
    assert (refusal.value.asked, refusal.value.spent, refusal.value.left) == (1_500_000, 0, ONE)


def test_where_later_neighbors_overspent_a_place_nothing_is_left_rather_than_less():
    """Balls around 0 and 4 do not meet, so both may be full; one in between reaches both."""
    budget = SpatialBudget(line(), ONE)
    assert ask(budget, [query(0, ONE), query(4, ONE)])
    with pytest.raises(BudgetError) as refusal:
        budget.price([query(2, 1)], "u")
    assert (refusal.value.spent, refusal.value.left) == (2 * ONE, 0)


def test_users_who_collude_get_no_more_than_the_table_allows():
    budget = SpatialBudget(line(), ONE, 400_000)
    got = dict.fromkeys("abcdef", 0)
    for _ in range(10):
        for user in got:
            if ask(budget, [query(0, 100_000)], user):
                got[user] += 100_000
    assert sum(got.values()) == ONE
    with pytest.raises(
        BudgetError, match="around this record 1 of the table's budget of 1 is already used"
    ):
        budget.price([query(0, 1)], "somebody new")


def test_a_user_is_kept_to_a_share_and_told_so():
    budget = SpatialBudget(line(), ONE, 400_000)
    assert ask(budget, [query(0, 300_000)], "a")
    assert ask(budget, [query(0, 300_000)], "b")
    with pytest.raises(BudgetError, match=r" 0\.3 of the user's own budget of 0\.4 is") as e:
        budget.price([query(0, 200_000)], "a")
    assert (e.value.asked, e.value.spent, e.value.left) == (200_000, 300_000, 100_000)
    assert ask(budget, [query(10, 400_000)], "a")  # elsewhere the share is whole
    assert budget.spent([[0.0]], [1.0], "a").tolist() == [300_000]
    assert budget.spent([[0.0]], [1.0], "nobody").tolist() == [0]
    assert budget.spent([[0.0]], [1.0]).tolist() == [600_000]


def test_what_a_user_spent_does_not_depend_on_when_it_is_first_asked():
    rng = np.random.default_rng(1)
    early, late = (SpatialBudget(plane(), ONE, ONE) for _ in range(2))
    for _ in range(20):
        places, users = rng.normal(size=(50, 2)), rng.choice(["a", "b", "c"], size=50).tolist()
        micro = rng.integers(1, 100, size=50)
        for budget in (early, late):
            budget.add(places, np.full(50, 0.3), micro, users)
        early.spent([[0.0, 0.0]], [0.3], "a")
    for user in ("a", "b", "c"):
        asked_at = rng.normal(size=(30, 2))
        radii = np.full(30, 0.2)
        np.testing.assert_array_equal(
            early.spent(asked_at, radii, user), late.spent(asked_at, radii, user)
        )


def test_a_query_without_a_radius_of_influence_is_charged_everywhere():
    budget = SpatialBudget(line(), ONE)
    assert ask(budget, [query(0, 300_000, math.inf)])
    assert budget.spent([[1e100]], [0.0]).tolist() == [300_000]
    assert ask(budget, [query(50, 700_000)])
    assert not ask(budget, [query(-50, 1, math.inf)])  # reaches the place at 50, which is full


def test_a_raised_cap_makes_room():
    budget = SpatialBudget(line(), ONE)
    assert ask(budget, [query(0, ONE)])
    assert not ask(budget, [query(0, 1)])
    budget.cap = 2 * ONE
    assert ask(budget, [query(0, ONE)])
    assert not ask(budget, [query(0, 1)])


def test_nothing_here_could_look_at_a_table():
    """Refusals are a function of metric, caps and queries: no call takes anything else."""
    calls = {
        SpatialBudget.__init__: {"self", "metric", "cap", "user_cap"},
        SpatialBudget.add: {"self", "places", "radii", "micro", "users"},
        SpatialBudget.price: {"self", "queries", "user"},
        SpatialBudget.spent: {"self", "places", "radii", "user"},
    }
    for call, names in calls.items():
        assert set(inspect.signature(call).parameters) == names


@pytest.mark.parametrize("caps", [(0, None), (-1, None), (ONE, 0)])
def test_a_cap_is_at_least_one_millionth(caps):
    with pytest.raises(ValueError, match="cap must be >= 1 millionth"):
        SpatialBudget(line(), *caps)


def test_a_place_of_another_width_is_refused():
    with pytest.raises(ValueError, match="place must have 2 numbers"):
        SpatialBudget(plane(), ONE).price([query(1.0, 1)], "u")
    with pytest.raises(ValueError, match="user must be None"):
        SpatialBudget(plane(), ONE).spent([[0.0, 0.0]], [1.0], "u")


def test_how_many_fit_is_what_asking_one_by_one_gives():
    rng = np.random.default_rng(2)
    places = rng.normal(size=(3000, 2))
    budget = SpatialBudget(plane(), ONE)
    mask = fits(places, 0.2, "0.3", 1, plane())
    assert mask.tolist() == [ask(budget, [query(p, 300_000, 0.2)]) for p in places]
    assert fits(places * 1000, 0.2, 0.3, 1, plane()).sum() > 2900 > 3 * mask.sum()
    assert fits(places, 0.2, "0.3", "0.2", plane()).sum() == 0
    assert fits(places[:0], 0.2, "0.3", 1, plane()).shape == (0,)
    with pytest.raises(ValueError, match="epsilon must be"):
        fits(places, 0.2, 0, 1, plane())
    with pytest.raises(ValueError, match="cap must be"):
        fits(places, 0.2, 0.1, math.inf, plane())


def test_how_many_fit_on_mammography(real_data):
    """10,000 of its records as queries, r 1.7, epsilon .1, cap 1: 157, by this order of them."""
    table = pd.read_parquet(real_data / "mammography.parquet")
    table = table.drop(columns="label").to_numpy(dtype=np.float64)
    metric = declare("euclidean", None, None, table.shape[1])
    rows = np.random.default_rng(0).permutation(len(table))[:10_000]
    assert fits(table[rows], 1.7, "0.1", 1, metric).sum() == 157
    assert fits(table[:10_000], 1.7, "0.1", 1, metric).sum() == 153
