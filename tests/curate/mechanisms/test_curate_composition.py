"""Composition: what a set of queries costs is the worst case over all tables, enumerated."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isinglass.curate.mechanisms.composition import Parallel, PostProcessing, Sequential, total_cost
from isinglass.curate.mechanisms.mechanism import (
    dp_mechanism,
    sensitive_mechanism,
    sparse_mechanism,
)
from isinglass.curate.query import Query
from isinglass.detect.metric import METRICS, declare

LINE = declare("euclidean", None, None, 1)
HALF = 500_000


def query(place, micro=HALF, r=1.0, **settings):
    settings = {"mode": "sparse", "beta": 5, "influence": r} | settings
    return Query(np.atleast_1d(np.array(place, dtype=float)), r=r, micro=micro, **settings)


def test_the_dearest_place_need_not_be_asked_about():
    """Queries at 1, 3, 5 with r 1 and epsilon .5 cost 1, through 2 and 4; pairwise, 1.5."""
    total = total_cost([query(1), query(3), query(5)], LINE)
    assert (total.exact, total.pairwise, total.cost) == (1_000_000, 1_500_000, 1_000_000)
    apart = total_cost([query(1), query(5)], LINE)
    assert (apart.exact, apart.pairwise, apart.cost) == (HALF, HALF, HALF)
    assert total.explain() == (
        "3 queries together: epsilon 1 of differential privacy for every record; adding up all "
        "within reach of a query would give 1.5"
    )


def test_sensitive_queries_promise_what_the_weakest_does():
    asked = [
        query(0, mode="sensitive", k=3, beta=5, r=1.0),
        query(9, mode="sensitive", k=2, beta=7, r=0.5),
        query(20, mode="sparse", beta=90, r=0.25),
    ]
    total = total_cost(asked, LINE)
    assert (total.privacy, total.k, total.beta, total.r) == ("sensitive", 2, 7, 0.5)
    assert "at least 7 + 1 - 2 records within 0.5" in total.explain()
    plain = total_cost(asked[2:], LINE)
    assert (plain.privacy, plain.k, plain.beta, plain.r) == ("differential", None, None, None)
    own = total_cost([query(0, mode="mine")], LINE)
    assert own.others == ("mine",)
    assert "as far as the questions of mine cover it" in own.explain()
    assert total_cost([], LINE).cost == 0


def test_in_two_dimensions_the_order_gives_the_tighter_bound():
    plane = declare("euclidean", None, None, 2)
    total = total_cost([query((x, 0.0)) for x in (1, 3, 5)], plane)
    assert (total.exact, total.in_order, total.pairwise) == (None, 1_000_000, 1_500_000)
    assert total.cost == 1_000_000
    assert "at most epsilon 1 of" in total.explain()


def test_a_query_without_influence_adds_to_every_place():
    total = total_cost([query(0), query(100), query(7, 200_000, influence=math.inf)], LINE)
    assert total.exact == 700_000
    assert total.pairwise == 1_200_000


@pytest.mark.parametrize(("r", "exact"), [(0.5, HALF), (0.999, HALF), (1.0, 1_500_000)])
def test_a_lone_column_compared_by_equality(r, exact):
    metric = declare("hamming", None, None, 1)
    assert total_cost([query(k, r=r) for k in range(3)], metric).exact == exact


@given(
    name=st.sampled_from(METRICS),
    weight=st.sampled_from([None, [0.3], [4.0]]),
    asked=st.lists(
        st.tuples(
            st.integers(-6, 6),
            st.sampled_from([0.0, 0.5, 1.0, 2.5, math.inf]),
            st.integers(1, 50),
        ),
        max_size=12,
    ),
)
@settings(max_examples=200)
def test_the_sweep_finds_the_most_touched_place(name, weight, asked):
    metric = declare(name, 2.5 if name == "minkowski" else None, weight, 1)
    queries = [query(place, micro, r) for place, r, micro in asked]
    total = total_cost(queries, metric)
    unit = metric.distance([0.0], [1.0])
    ends = [q.place[0] + s * q.r / unit for q in queries for s in (-1, 0, 1) if math.isfinite(q.r)]
    # Just inside an end, so that rounding does not put the probe beyond it.
    inside = [q.place[0] + s * q.r / unit * (1 - 1e-12) for q in queries for s in (-1, 1)
              if math.isfinite(q.r)]  # fmt: skip
    touched = [
        sum(q.micro for q in queries if metric.distance(q.place, [j]) <= q.influence)
        for j in [*ends, *inside, 0.0]
    ]
    assert total.exact == max(touched)
    assert total.exact <= total.in_order <= total.pairwise


# Tables over the places 0..4 with at most so many records each, as counts.
PLACES = range(5)


def worst_loss(queries, mechanisms, most):
    """The largest log-ratio of the chances of all answers together, over covered neighbors.

    Answers are drawn independently, so the worst of all combinations of answers is the sum of
    each one's worst, upwards or downwards.
    """
    near = {
        (i, r): [j for j in PLACES if abs(i - j) <= r]
        for i in PLACES
        for r in {q.r for q in queries}
    }
    asked = [(int(q.place[0]), q.r, m) for q, m in zip(queries, mechanisms, strict=True)]
    chances = {}

    def chance(x, index):
        i, r, mechanism = asked[index]
        counts = x[i], sum(x[j] for j in near[i, r])
        if (index, counts) not in chances:
            wrong = mechanism.error_probability(*counts)
            yes = 1 - wrong if mechanism.anomalous(*counts) else wrong
            chances[index, counts] = math.log(yes), math.log1p(-yes)
        return chances[index, counts]

    worst = 0.0
    for x in itertools.product(range(most + 1), repeat=len(PLACES)):
        for j in PLACES:
            if x[j] == most:
                continue
            y = (*x[:j], x[j] + 1, *x[j + 1 :])
            # The least k, the largest beta, the least r: what `total_cost` says is covered.
            total = total_cost(queries, LINE)
            if total.privacy == "sensitive":
                around = sum(y[c] for c in PLACES if abs(j - c) <= total.r)
                if around < total.beta + 1 - total.k:
                    continue
            both = [(chance(x, t), chance(y, t)) for t in range(len(asked))]
            up = sum(max(b[o] - a[o] for o in (0, 1)) for a, b in both)
            down = sum(max(a[o] - b[o] for o in (0, 1)) for a, b in both)
            worst = max(worst, up, down)
    return worst


MAKERS = {
    "sparse": lambda q: sparse_mechanism(q.beta, q.r, "0.5"),
    "dp": lambda q: dp_mechanism(q.beta, q.r, "0.5"),
    "sensitive": lambda q: sensitive_mechanism(q.beta, q.r, "0.5", k=q.k),
}
SETS = {
    "three in a row": [query(0, beta=2), query(2, beta=1), query(4, beta=2)],
    "far apart": [query(0, beta=2), query(4, beta=1)],
    "one place twice": [query(1, beta=2), query(1, beta=1, mode="dp"), query(4, beta=2, r=0.0)],
    "mixed radii": [query(0, beta=1, r=2.0), query(3, beta=2), query(4, beta=1, r=0.0)],
    "sensitive": [
        query(0, beta=2, k=1, mode="sensitive"),
        query(2, beta=2, k=1, mode="sensitive"),
    ],
    "sensitive, mixed": [
        query(1, beta=2, k=1, mode="sensitive", r=1.0),
        query(2, beta=3, k=2, mode="sensitive", r=1.0),
        query(4, beta=1, mode="sparse"),
    ],
    "sensitive, two k": [
        query(1, beta=3, k=1, mode="sensitive"),
        query(3, beta=3, k=2, mode="sensitive"),
    ],
    "sensitive, two beta": [
        query(1, beta=3, k=1, mode="sensitive"),
        query(3, beta=2, k=1, mode="sensitive"),
    ],
    "sensitive, two radii": [
        query(1, beta=3, k=2, mode="sensitive", r=2.0),
        query(3, beta=2, k=1, mode="sensitive", r=1.0),
    ],
}


@pytest.mark.parametrize("name", SETS)
def test_the_total_is_the_worst_case_over_all_tables(name):
    queries = SETS[name]
    mechanisms = [MAKERS[q.mode](q) for q in queries]
    total = total_cost(queries, LINE)
    assert worst_loss(queries, mechanisms, 2) == pytest.approx(total.exact / 10**6, rel=1e-12)


def test_rules_add_take_the_largest_and_leave_alone():
    a, b, c = query(0, 100_000), query(10, 250_000), query(0.5, 50_000)
    both = Parallel((a, b), LINE)
    every = Sequential((both, c, c))
    assert (both.cost, every.cost, PostProcessing(every).cost) == (250_000, 350_000, 350_000)
    assert both.explain().endswith("the largest of 0.1, 0.25 is 0.25")
    assert every.explain().endswith("0.25 + 0.05 + 0.05 = 0.35")
    assert PostProcessing(every, "a ranking").explain() == (
        "a ranking made of answers alone, with no second look at the table, costs no more than "
        "they did: 0.35"
    )
    assert (Sequential(()).cost, Parallel((), LINE).cost) == (0, 0)
    # Parts may be rules themselves; what is inside a part may overlap.
    nested = Parallel((Sequential((a, c)), PostProcessing(b)), LINE)
    assert nested.cost == 250_000
    assert total_cost([a, b, c, c], LINE).exact <= every.cost


@pytest.mark.parametrize("other", [query(2), query(0.5), query(99, influence=math.inf)])
def test_parts_that_a_record_can_touch_both_are_not_parallel(other):
    with pytest.raises(ValueError, match="parts must be out of each other's reach"):
        Parallel((query(0), other), LINE)
    with pytest.raises(ValueError, match="out of each other's reach"):
        Parallel((PostProcessing(query(0)), Sequential((query(50), other))), LINE)
