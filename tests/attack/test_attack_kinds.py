"""Records of a few kinds: a mixture told from the release alone."""

import numpy as np
import pytest

from isinglass.attack.knowledge import ColumnStatistics, PublicParameters
from isinglass.attack.noise.kinds import means_of_kinds
from isinglass.attack.spectral import SpectralAttack

RNG = np.random.default_rng(3)


def explained(guess, table):
    left = np.square(guess - table).mean(axis=0) / table.var(axis=0)
    return np.maximum(0, 1 - left).mean()


@pytest.mark.parametrize(("kinds", "columns", "scale"), [(8, 60, 3.0), (4, 20, 2.0)])
def test_kinds_are_told_better_than_by_a_linear_filter(kinds, columns, scale):
    centers = RNG.normal(size=(kinds, columns))
    table = centers[RNG.integers(kinds, size=800)] + 0.15 * RNG.normal(size=(800, columns))
    released = table + scale * table.std(axis=0) * RNG.normal(size=table.shape)
    known = ColumnStatistics.of(table) | PublicParameters("additive_noise", {"scale": scale})
    linear, by_kind = (
        explained(SpectralAttack(m, random_state=0).guess(released, known), table)
        for m in ("auto", "kinds")
    )
    assert by_kind > linear + 0.15


def test_noise_alone_has_no_kinds_worth_telling():
    noise = RNG.normal(size=(1000, 10))
    means = means_of_kinds(noise, np.random.default_rng(0))
    assert means is None or means.var() < 0.1
    assert means_of_kinds(noise[:20], np.random.default_rng(0)) is None
