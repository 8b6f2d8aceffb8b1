"""Which record of a public table is behind each released row, after Aggarwal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglass import chance
from isinglass.attack.base import Attack, rows_of
from isinglass.attack.fit import (
    GaussianFit,
    PairFit,
    UniformFit,
    blocks,
    gaussian,
    per_record,
    proportional,
)
from isinglass.attack.knowledge import (
    Fact,
    Knowledge,
    KnownPairs,
    OtherReleases,
    PublicParameters,
    PublicTable,
)
from isinglass.errors import AttackError

Array = NDArray[Any]

#: Noise below this share of a column's deviation is taken for none: values then match or do not.
_NO_NOISE = 1e-6


@dataclass(frozen=True, slots=True)
class Links:
    """The public record that fits each released row best, and how sure that is."""

    best: NDArray[np.intp] = field(repr=False)  # row numbers of the public table
    posterior_best: Array = field(repr=False)  # all public records being equally likely before
    #: False where no public record can be behind the row at all; `best` is then the nearest.
    defined: NDArray[np.bool_] = field(repr=False)

    @property
    def ambiguous(self) -> NDArray[np.bool_]:
        """Where the best record is no likelier than all others together: a twin, or much noise."""
        return np.asarray(self.posterior_best <= 0.5 + 1e-6)


@dataclass(frozen=True, slots=True)
class Linker:
    """How well public records fit released rows; what it took to learn it is done once."""

    released: Array = field(repr=False)
    public: Array = field(repr=False)
    parameters: PublicParameters | None = field(default=None, repr=False)
    #: A guess of every record and the covariance of its error, where the fit was learned.
    learned: tuple[Array, Array] | None = field(default=None, repr=False)

    def fit(self, rows: Any = slice(None), n_columns: int | None = None) -> PairFit:
        """The fits of some released rows, to the public table's first columns or to all."""
        P = self.public[:, :n_columns]
        if self.learned is not None:
            from isinglass.attack.residual import whitening

            guess, covariance = self.learned
            white = whitening(covariance[:n_columns, :n_columns], P.std(axis=0))
            guess = guess[rows, :n_columns]
            return gaussian(guess @ white.T, P @ white.T, np.ones(len(white)))
        Z = self.released[rows, :n_columns]
        found = None
        if self.parameters is not None:
            found = _by_parameters(Z, P, _first_columns(self.parameters, n_columns))
        return _by_distance(Z, P) if found is None else found


class LinkageAttack(Attack):
    """Name, for each released row, the record of a public table that most likely is behind it.

    How well a record fits a row is the log-likelihood of what the perturbation must have done to
    turn the one into the other. For additive and multiplicative noise, and for noise by a rule,
    it follows from the public parameters. For any other method it is learned from known pairs: a
    guess of every record, and how far such guesses are off. Without pairs a release that keeps
    its units is matched by distance.

    The guess is the record named. `link` says how sure it is; `fits` gives all fits, block by
    block, to whoever holds the truth and wants to count how many records fit as well as it does.

    References
    ----------
    C. C. Aggarwal: On randomization, public information and the curse of dimensionality.
    ICDE 2007.
    """

    name = "linkage"
    needs = (PublicTable,)

    def __init__(self, random_state: chance.RandomState = None) -> None:
        self.random_state = random_state

    def guess(self, released: ArrayLike, knowledge: Fact | Knowledge) -> Array:
        """The public record that fits each released row best."""
        known = Knowledge.of(knowledge)
        return known.need(PublicTable).records[self.link(released, known).best]

    def link(self, released: ArrayLike, knowledge: Fact | Knowledge) -> Links:
        """The number of the best public record for each row, with its posterior."""
        Z, known = rows_of(released), Knowledge.of(knowledge)
        fit = self.linker(Z, known).fit()
        best, share = fit.best()
        defined = share > 0
        if not defined.all():
            P = known.need(PublicTable).records
            deviation = P.std(axis=0)
            scale = np.where(deviation > 0, deviation, 1.0)
            best[~defined] = gaussian(Z[~defined], P, scale).best()[0]
        return Links(best, share, defined)

    def fits(
        self, released: ArrayLike, knowledge: Fact | Knowledge
    ) -> Iterator[tuple[slice, Array]]:
        """Blocks of released rows with their log fits to all public records, (n, M) each.

        A block takes at most 64 MiB, unless a single row takes more.
        """
        return blocks(self.linker(released, knowledge).fit())

    def linker(self, released: ArrayLike, knowledge: Fact | Knowledge) -> Linker:
        """Settle, or learn, how well a record fits a row."""
        Z, known = rows_of(released), Knowledge.of(knowledge)
        P = known.need(PublicTable).records
        if not len(P) or not np.isfinite(P).all():
            raise AttackError("the public table must hold records, and finite numbers only")
        public = known.find(PublicParameters)
        same_width = Z.shape[1] == P.shape[1]
        if public is not None and same_width and _by_parameters(Z[:1], P, public) is not None:
            return Linker(*_averaged(Z, P, public, known.find(OtherReleases)))
        if KnownPairs in known:
            return Linker(Z, P, learned=self._learn(Z, P, known))
        if public is not None and public.method == "condensation" and same_width:
            return Linker(Z, P)
        raise AttackError(
            "linking needs the public parameters of a method that adds noise, or known pairs to "
            "learn from how the release differs from the table; neither is known"
        )

    def _learn(self, Z: Array, P: Array, known: Knowledge) -> tuple[Array, Array]:
        from isinglass.attack.residual import guess_and_spread

        if known.need(KnownPairs).records.shape[1] != P.shape[1]:
            raise AttackError(
                f"known pairs must have the public table's {P.shape[1]} columns, "
                f"got {known.need(KnownPairs).records.shape[1]}"
            )
        return guess_and_spread(Z, known, self.random_state)


def _averaged(
    Z: Array, P: Array, public: PublicParameters, others: OtherReleases | None
) -> tuple[Array, Array, PublicParameters]:
    """The mean of releases with independent additive noise, made alike, and its smaller noise.

    The mean of m gaussian releases tells all that they tell; that of uniform ones is nearly
    gaussian, too.
    """
    alike = [] if others is None else [t for t in others.tables if t.shape == Z.shape]
    if public.method != "additive_noise" or not alike:
        return Z, P, public
    m = 1 + len(alike)
    scale = np.asarray(public.parameters.get("scale", 1.0), dtype=np.float64) / np.sqrt(m)
    said = {**public.parameters, "scale": scale, "distribution": "gaussian"}
    return np.mean([Z, *alike], axis=0), P, replace(public, parameters=said)


def _first_columns(public: PublicParameters, n: int | None) -> PublicParameters:
    """Parameters of the first n columns, where some are given column by column."""
    listed = {
        name: list(value)[:n]
        for name, value in public.parameters.items()
        if name in ("scale", "units") and np.ndim(value) == 1
    }
    return replace(public, parameters={**public.parameters, **listed}) if listed else public


def _by_parameters(Z: Array, P: Array, public: PublicParameters) -> PairFit | None:
    """The exact fit, for methods whose public parameters say how the noise was drawn."""
    said, deviation = public.parameters, P.std(axis=0, ddof=1 if len(P) > 1 else 0)
    if public.method == "additive_noise":
        # `relative` counts in deviations of the table, which the public table has too.
        unit = deviation if said.get("relative", True) else np.ones_like(deviation)
        scale = np.asarray(said.get("scale", 1.0), dtype=np.float64) * unit
        # Without noise a column that varies must match; one that does not tells nothing.
        scale = np.maximum(scale, _NO_NOISE * deviation)
        used = scale > 0
        if not used.any():
            return gaussian(Z, P, np.ones_like(scale))
        Z, P, scale = Z[:, used], P[:, used], scale[used]
        if said.get("distribution", "gaussian") == "uniform":
            return UniformFit(Z, P, scale)
        return gaussian(Z, P, scale)
    if public.method == "adaptive_noise" and len(said.get("sigmas", ())) == len(P):
        sigmas = np.asarray(said["sigmas"], dtype=np.float64)
        units = np.asarray(said.get("units", np.ones(P.shape[1])), dtype=np.float64)
        used = units > 0
        smallest = _NO_NOISE * np.sqrt(np.mean(np.square(deviation[used] / units[used])))
        sigmas = np.maximum(sigmas, max(smallest, np.finfo(np.float64).tiny))
        return per_record(Z[:, used], P[:, used], units[used], sigmas)
    if public.method == "multiplicative_noise":
        size = np.sqrt(np.mean(np.square(P), axis=0))
        used = size > 0
        if not used.any():
            return None
        scale = max(float(said.get("scale", 0.1)), _NO_NOISE)
        return proportional(Z[:, used], P[:, used], scale, 1e-3 * size[used])
    return None


def _by_distance(Z: Array, P: Array) -> GaussianFit:
    """The nearest record, by columns in deviations; how near the nearest are sets the scale."""
    deviation = P.std(axis=0)
    used = deviation > 0
    if not used.any():
        return gaussian(Z, P, np.ones(P.shape[1]))
    Z, P, deviation = Z[:, used], P[:, used], deviation[used]
    some = Z[:: max(1, len(Z) // 500)]
    nearest = P[gaussian(some, P, deviation).best()[0]]
    spread = np.sqrt(np.mean(np.square((some - nearest) / deviation)))
    return gaussian(Z, P, deviation * max(float(spread), _NO_NOISE))
