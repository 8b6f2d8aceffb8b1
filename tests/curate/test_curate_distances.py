"""Distances to the other answer, against walks through all small tables."""

from __future__ import annotations

import itertools

import pytest

from isinglass.curate.mechanisms.mechanism import sensitive_mechanism
from isinglass.curate.questions.builtin import (
    presence_distance,
    sensitive_distance,
    sparse_distance,
)


def test_sparse_errs_as_sensitive_with_k_1_about_present_records_and_never_more():
    for beta, k, near in itertools.product(range(1, 8), range(1, 9), range(14)):
        for own in range(1, near + 1):
            ours = sparse_distance(near, beta)
            assert ours >= sensitive_distance(own, near, beta, k)
            assert ours == sensitive_distance(own, near, beta, 1)


class Tables:
    """All tables over {0, .., n-1} with at most `most` copies, and distances walked in them."""

    def __init__(self, n: int, r: int, most: int) -> None:
        self.all = list(itertools.product(range(most + 1), repeat=n))
        self.n, self.r, self.most = n, r, most

    def near(self, table, i):
        return sum(c for j, c in enumerate(table) if abs(i - j) <= self.r)

    def steps(self, table, covered):
        for j in range(self.n):
            for change in (-1, 1):
                if 0 <= table[j] + change <= self.most:
                    other = (*table[:j], table[j] + change, *table[j + 1 :])
                    if covered(table, other, j):
                        yield other

    def walk(self, truth, covered):
        """Steps from each table to the nearest with the other answer, by breadth-first search."""
        found, edge = {}, []
        for table in self.all:
            if any(truth[other] != truth[table] for other in self.steps(table, covered)):
                found[table] = 1
                edge.append(table)
        while edge:
            edge = [
                other
                for table in edge
                for other in self.steps(table, covered)
                if found.setdefault(other, found[table] + 1) == found[table] + 1
            ]
            edge = list(dict.fromkeys(edge))
        return found


@pytest.mark.parametrize("beta", [1, 2, 3])
def test_the_dp_distance_is_the_fewest_changes_that_turn_the_answer_over(beta):
    tables = Tables(4, 1, 5)
    for i in (0, 1):
        truth = {t: t[i] > 0 and tables.near(t, i) <= beta for t in tables.all}
        found = tables.walk(truth, lambda *_: True)
        for t in tables.all:
            expected = presence_distance(t[i], tables.near(t, i), beta)
            assert found[t] == expected


@pytest.mark.parametrize(("beta", "k"), [(1, 1), (2, 1), (2, 2), (3, 1), (3, 2)])
def test_the_sensitive_bound_is_below_the_walk_over_sensitive_neighbors(beta, k):
    tables = Tables(4, 1, 4)

    def covered(a, b, j):
        return max(tables.near(a, j), tables.near(b, j)) >= beta + 1 - k

    tight = reached = 0
    for i in (0, 1):
        truth = {t: t[i] > 0 and tables.near(t, i) <= beta for t in tables.all}
        found = tables.walk(truth, covered)
        for t, steps in found.items():
            bound = sensitive_distance(t[i], tables.near(t, i), beta, k)
            assert 1 <= bound <= steps
            reached += 1
            tight += bound == steps
    assert tight >= 0.9 * reached


@pytest.mark.parametrize(("beta", "k"), [(1, 1), (3, 1), (3, 2), (5, 2), (5, 5)])
def test_every_other_record_is_covered_sensitive_or_not(beta, k):
    """More than the definition asks: only copies of the record asked about may lose more."""
    mechanism = sensitive_mechanism(beta, 1.0, 1, k=k, cap=10**6)
    for near in range(beta + 8):
        for own in range(near + 1):
            before = sensitive_distance(own, near, beta, k)
            for more in (0, 1):
                assert abs(sensitive_distance(own + more, near + 1, beta, k) - before) <= 1
            assert mechanism.loss((own, near), (own, near + 1)) <= 1 + 1e-12
