"""Every case: what leaves, who attacks, and with which script."""

from __future__ import annotations

from functools import partial

from tests.redteam import by_foreign as foreign
from tests.redteam import by_key as stolen
from tests.redteam import by_membership as members
from tests.redteam import by_pairs as pairs
from tests.redteam import by_release as alone
from tests.redteam import making as mk
from tests.redteam import tables as t
from tests.redteam.by_digits import DIGITS
from tests.redteam.by_order import ORDERED
from tests.redteam.by_turning import TURNED
from tests.redteam.harness import Case
from tests.redteam.kept import KEPT
from tests.redteam.more import MORE
from tests.redteam.patterns import PATTERNS
from tests.redteam.transforms import TRANSFORMS

mammography = partial(t.real, "mammography", 2000)
thyroid = partial(t.real, "thyroid", 2000)
pendigits = partial(t.real, "pendigits", 1500)
few_digits = partial(t.real, "pendigits", 400)
har = partial(t.real, "har_smartphone", 300)
satellite = partial(t.real, "satellite", 400)
engines = partial(t.real, "cmapss_fd003_train", 2000, ordered=True)
ten = partial(t.factors, 1500, 10, 4, rest=0.3)
wide = partial(t.factors, 1200, 29, 8, rest=0.3)
people = partial(t.cities)

# What got through before: the first list, every row of it.
FIRST = [
    Case("projection-1-of-16", "projection to 1 column of 16", "insider", "linked",
         mk.ours(pendigits, "projection", "n_components=1"), pairs.forward_affine, quick=True),
    Case("projection-2-of-16", "projection to 2 columns of 16", "insider", "linked",
         mk.ours(pendigits, "projection", "n_components=2"), pairs.forward_affine),
    Case("square-2-of-16", "square to 2 columns of 16", "insider", "linked",
         mk.ours(pendigits, "square", "n_components=2"), pairs.forward_quadratic, quick=True),
    Case("multiparty-2-of-10", "multiparty to 2 columns of 10", "insider", "linked",
         mk.ours(ten, "multiparty", "alpha=0.2", width=2), pairs.forward_double_logistic),
    Case("multiparty-2-of-16", "multiparty to 2 columns of 16", "insider", "linked",
         mk.ours(pendigits, "multiparty", "alpha=0.2", width=2), pairs.forward_double_logistic),
    Case("kept-five", "noise, but city, lat, lon, rent, income as they are", "insider", "linked",
         mk.ours(people, "gaussian", "scale=3", keep="city,lat,lon,rent,income"), alone.exact_join,
         quick=True),
    Case("kept-city-sample", "noise of scale 6, city as it is", "acquainted", "r2",
         mk.ours(people, "gaussian", "scale=6", keep="city"), alone.group_means_of_sample,
         quick=True),
    Case("kept-city-alone", "noise of scale 6, city as it is", "outsider", "r2",
         mk.ours(people, "gaussian", "scale=6", keep="city"), alone.group_means_of_release),
    Case("condensation-wide", "condensation, k = 10, 561 columns", "acquainted", "membership",
         mk.ours(har, "condensation", "k=10", split=True),
         members.distance_to_flat, refusable=True),
    Case("condensation-36", "condensation, k = 10, 36 columns", "acquainted", "membership",
         mk.ours(satellite, "condensation", "k=10", split=True),
         members.distance_to_flat, refusable=True),
    Case("condensation-16", "condensation, k = 5, 16 columns", "acquainted", "membership",
         mk.ours(few_digits, "condensation", "k=5", split=True),
         members.distance_to_flat, refusable=True,
         quick=True),
    Case("engines-in-order", "noise of scale 6, rows in time order", "outsider", "r2",
         mk.ours(engines, "gaussian", "scale=6"), alone.smooth_along_rows),
    Case("engines-known-rows", "noise of scale 6, rows in time order", "acquainted", "r2",
         mk.ours(engines, "gaussian", "scale=6"), alone.between_known_rows),
    Case("waves-in-order", "noise of scale 3, rows in time order", "outsider", "r2",
         mk.ours(t.waves, "gaussian", "scale=3"), alone.smooth_along_rows, quick=True),
    Case("waves-known-rows", "noise of scale 3, rows in time order", "acquainted", "r2",
         mk.ours(t.waves, "gaussian", "scale=3"), alone.between_known_rows),
    Case("tanh-called-condensation", "tanh, its metadata say condensation", "insider", "r2",
         mk.mislabeled(ten, "tanh", "condensation"), pairs.backward_best, quick=True),
    Case("tanh-8-of-20-key", "tanh, 6 columns, 20 units, 8 released; key", "key_holder", "r2",
         mk.ours(mammography, "tanh", "n_hidden=20", "n_components=8"), stolen.invert_whole_map,
         quick=True),
    Case("tanh-40-of-60-key", "tanh, 29 columns, 60 units, 40 released; key", "key_holder", "r2",
         mk.ours(wide, "tanh", "n_hidden=60", "n_components=40"), stolen.invert_whole_map),
    Case("square-60-key", "square, 29 columns, 60 units, 60 released; key", "key_holder", "r2",
         mk.ours(wide, "square", "n_hidden=60", "n_components=60"), stolen.invert_whole_map),
    Case("tanh-steep-mammography", "tanh of slope 5", "insider", "r2",
         mk.ours(mammography, "tanh", "slope=5"), pairs.unit_pursuit, draws=3),
    Case("tanh-steep-thyroid", "tanh of slope 5", "insider", "r2",
         mk.ours(thyroid, "tanh", "slope=5"), pairs.unit_pursuit, draws=3),
    Case("tanh-slope-2-thyroid", "tanh of slope 2", "insider", "r2",
         mk.ours(thyroid, "tanh", "slope=2"), pairs.unit_pursuit, quick=True),
    Case("other-units", "columns in other units, columns and rows shuffled", "insider", "linked",
         mk.foreign(mammography, mk.other_units, named=True), foreign.columns_then_rows,
         quick=True),
    Case("noise-by-block", "the same noise row for every 50 rows", "outsider", "r2",
         mk.foreign(mammography, mk.noise_by_block), foreign.within_blocks),
    Case("noise-by-block-linked", "the same noise row for every 50 rows", "insider", "linked",
         mk.foreign(mammography, mk.noise_by_block), foreign.differences_in_blocks),
    Case("pseudonyms", "each value replaced by a number of its own", "insider", "linked",
         mk.foreign(partial(t.real, "mammography", 1000), mk.pseudonyms),
         foreign.codes, quick=True),
    Case("means-of-near-five", "means of five near records", "insider", "linked",
         mk.foreign(mammography, mk.means_of_near_five), foreign.members_of_means),
    Case("means-of-any-five", "means of five records", "outsider", "r2",
         mk.foreign(mammography, mk.means_of_any_five), alone.release_as_it_is),
    Case("sign-by-row", "a random sign for each row", "insider", "linked",
         mk.foreign(mammography, mk.sign_by_row), foreign.up_to_sign),
    Case("factor-by-row", "a random factor for each row", "insider", "linked",
         mk.foreign(mammography, mk.factor_by_row), foreign.up_to_factor),
    Case("half-of-the-rows", "half of the rows, shuffled", "insider", "linked",
         mk.foreign(mammography, mk.half, named=True), foreign.exact_rows),
    Case("half-membership-exact", "half of the rows, shuffled", "outsider", "membership",
         mk.foreign(mammography, mk.half), members.distance_to_release),
    Case("half-membership", "half of the rows, a little noise", "outsider", "membership",
         mk.foreign(mammography, mk.half_with_noise), members.distance_to_release),
    Case("control-noise", "numbers that mean nothing", "insider", "resisted",
         mk.foreign(mammography, mk.fresh_noise), quick=True),
    Case("control-synthetic", "a fresh table of the same covariance", "insider", "resisted",
         mk.foreign(mammography, mk.fresh_synthetic)),
]  # fmt: skip

CASES = [*FIRST, *MORE, *KEPT, *TURNED, *PATTERNS, *ORDERED, *DIGITS, *TRANSFORMS]
