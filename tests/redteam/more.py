"""More cases: every method at strong and weak settings, and further files of other tools."""

from __future__ import annotations

from functools import partial

from tests.redteam import by_foreign as foreign
from tests.redteam import by_key as stolen
from tests.redteam import by_membership as members
from tests.redteam import by_pairs as pairs
from tests.redteam import by_release as alone
from tests.redteam import by_steps as steps
from tests.redteam import making as mk
from tests.redteam import tables as t
from tests.redteam.harness import Case

mammography = partial(t.real, "mammography", 2000)
thyroid = partial(t.real, "annthyroid", 1500)
pendigits = partial(t.real, "pendigits", 1500)
few_digits = partial(t.real, "pendigits", 600)
cardio = partial(t.real, "cardio", 1500)
satellite = partial(t.real, "satellite", 1500)
few_satellites = partial(t.real, "satellite", 500)
abalone = partial(t.real, "abalone", 1500)
wine = partial(t.real, "wine", 178)
breast = partial(t.real, "breast_w", 699)
diabetes = partial(t.real, "diabetes", 768)
fraud = partial(t.real, "credit_fraud", 1500)
ten = partial(t.factors, 1500, 10, 4, rest=0.3)
twelve = partial(t.factors, 1000, 12, 3, rest=0.3)
wide = partial(t.factors, 1000, 60, 6, rest=0.3)
apart = partial(t.independent, 2000, 6)
many = partial(t.independent, 1000, 60)
groups = partial(t.clusters, 1500, 6)
answers = t.small_numbers


def in_order():
    return ten().sort_values("c0", ignore_index=True)


METHODS = [
    Case("linear", "linear", "acquainted", "r2",
         mk.ours(wine, "linear"), pairs.backward_affine),
    Case("linear-3-of-10", "linear to 3 columns of 10", "acquainted", "r2",
         mk.ours(ten, "linear", "n_components=3"), pairs.forward_then_likeliest),
    Case("linear-key", "linear; key", "key_holder", "r2",
         mk.ours(cardio, "linear"), stolen.read_off_affine_map),
    Case("tanh-default", "tanh", "acquainted", "r2",
         mk.ours(thyroid, "tanh"), pairs.unit_pursuit),
    Case("tanh-weak", "tanh of slope 0.1", "acquainted", "r2",
         mk.ours(pendigits, "tanh", "slope=0.1"), pairs.backward_best),
    Case("tanh-two-layers", "tanh in two layers", "insider", "r2",
         mk.ours(abalone, "tanh", "layers=2"), pairs.backward_best),
    Case("tanh-paper", "tanh, gaussian weights, 64 units and columns", "insider", "r2",
         mk.ours(ten, "tanh", "weights=gaussian", "n_hidden=64", "n_components=64"),
         pairs.backward_best),
    Case("tanh-2-of-16", "tanh to 2 columns of 16", "insider", "linked",
         mk.ours(pendigits, "tanh", "n_components=2"), pairs.forward_kernel),
    Case("sigmoid-default", "sigmoid", "acquainted", "r2",
         mk.ours(diabetes, "sigmoid"), pairs.backward_best),
    Case("sigmoid-steep", "sigmoid of slope 6", "insider", "r2",
         mk.ours(mammography, "sigmoid", "slope=6"), pairs.unit_pursuit),
    Case("square-default", "square", "insider", "linked",
         mk.ours(abalone, "square"), pairs.forward_quadratic),
    Case("square-wide", "square, 10 columns, 66 units and columns", "insider", "r2",
         mk.ours(ten, "square", "n_hidden=66", "n_components=66"), pairs.backward_best),
    Case("sign-default", "sign", "insider", "r2",
         mk.ours(ten, "sign"), pairs.backward_best),
    Case("sign-many-units", "sign, 100 units and columns", "insider", "r2",
         mk.ours(breast, "sign", "n_hidden=100", "n_components=100"), pairs.backward_best),
    Case("double-logistic", "double logistic", "insider", "r2",
         mk.ours(ten, "double_logistic"), pairs.backward_best),
    Case("double-logistic-weak", "double logistic of slope 0.3", "insider", "linked",
         mk.ours(pendigits, "double_logistic", "slope=0.3"), pairs.backward_link),
    Case("multiparty-weak", "multiparty, 8 columns of 9, alpha 0.01", "outsider", "r2",
         mk.ours(partial(t.independent, 1500, 9), "multiparty", "alpha=0.01", width=8),
         alone.public_matrix_alone),
    Case("multiparty-strong", "multiparty, half of the columns, alpha 0.6", "acquainted", "r2",
         mk.ours(ten, "multiparty", "alpha=0.6"), pairs.forward_then_likeliest),
    Case("gaussian-weak", "noise of scale 0.2", "outsider", "r2",
         mk.ours(thyroid, "gaussian", "scale=0.2"), alone.release_as_it_is),
    Case("gaussian-correlated", "noise of scale 1, correlated columns", "outsider", "r2",
         mk.ours(wide, "gaussian", "scale=1"), alone.wiener_of_release),
    Case("gaussian-groups", "noise of scale 0.8, clustered records", "acquainted", "r2",
         mk.ours(groups, "gaussian", "scale=0.8"), alone.posterior_mean),
    Case("gaussian-strong", "noise of scale 4, 60 correlated columns", "acquainted", "r2",
         mk.ours(wide, "gaussian", "scale=4"), alone.wiener_of_sample),
    Case("gaussian-linked", "noise of scale 1, 36 columns", "insider", "linked",
         mk.ours(satellite, "gaussian", "scale=1"), alone.nearest_record),
    Case("gaussian-key", "noise of scale 3; key", "key_holder", "r2",
         mk.ours(cardio, "gaussian", "scale=3"), stolen.subtract_noise),
    Case("uniform-weak", "uniform noise of scale 0.5, 28 columns", "insider", "linked",
         mk.ours(fraud, "uniform", "scale=0.5"), alone.in_the_box),
    Case("uniform-strong", "uniform noise of scale 3, 60 columns", "insider", "linked",
         mk.ours(wide, "uniform", "scale=3"), alone.in_the_box),
    Case("uniform-one-quantity", "uniform noise of scale 20, 60 columns of one quantity",
         "outsider", "r2",
         mk.ours(t.one_quantity, "uniform", "scale=20"), alone.ends_of_one_quantity),
    Case("uniform-sample", "uniform noise of scale 12, 36 columns", "acquainted", "r2",
         mk.ours(few_satellites, "uniform", "scale=12"), alone.ends_by_sample),
    Case("gaussian-far-values", "noise of scale 3, one far value a column", "outsider", "r2",
         mk.ours(t.one_far, "gaussian", "scale=3"), alone.largest_is_the_largest),
    Case("adaptive-weak", "adaptive noise, k = 2", "outsider", "r2",
         mk.ours(groups, "adaptive", "k=2"), alone.release_as_it_is),
    Case("adaptive-strong", "adaptive noise, k = 30", "insider", "linked",
         mk.ours(partial(t.real, "pendigits", 800), "adaptive", "k=30"), alone.nearest_record),
    Case("multiplicative-weak", "noise by factors, scale 0.1", "insider", "linked",
         mk.ours(abalone, "multiplicative", "scale=0.1"), alone.by_ratio),
    Case("multiplicative-strong", "noise by factors, scale 0.3, 16 columns", "insider", "linked",
         mk.ours(pendigits, "multiplicative", "scale=0.3"), alone.by_ratio),
    Case("rotation", "rotation", "acquainted", "r2",
         mk.ours(wine, "rotation", "n_iter=3"), pairs.backward_affine),
    Case("rotation-alone", "rotation of independent columns", "outsider", "r2",
         mk.ours(apart, "rotation", "n_iter=3"), alone.independent_parts),
    Case("rotation-whole-numbers", "rotation of answers from 1 to 7", "outsider", "r2",
         mk.ours(t.scales, "rotation", "n_iter=3"), steps.steps_of_rows),
    Case("linear-whole-numbers", "linear, of answers from 1 to 7", "outsider", "r2",
         mk.ours(t.scales, "linear"), steps.steps_of_rows),
    Case("geometric-weak", "rotation and noise 0.05", "acquainted", "r2",
         mk.ours(diabetes, "geometric"), pairs.forward_then_likeliest),
    Case("geometric-strong", "rotation and noise 0.3, correlated columns", "acquainted", "r2",
         mk.ours(ten, "geometric", "noise=0.3"), pairs.forward_then_likeliest),
    Case("geometric-linked", "rotation and noise 0.05, 21 columns", "insider", "linked",
         mk.ours(cardio, "geometric"), pairs.forward_affine_once),
    Case("projection-half", "projection to half of the columns", "acquainted", "r2",
         mk.ours(satellite, "projection"), pairs.forward_then_likeliest),
    Case("projection-of-items", "projection to 1 column of 8 questions", "acquainted", "r2",
         mk.ours(t.items, "projection", "n_components=1"), pairs.every_combination),
    Case("projection-key", "projection to 8 columns of 10; key", "key_holder", "r2",
         mk.ours(ten, "projection", "n_components=8"), stolen.read_off_affine_map),
    Case("condensation-pairs", "condensation, k = 2", "outsider", "membership",
         mk.ours(groups, "condensation", "k=2", split=True), members.distance_to_release),
    Case("condensation-strong", "condensation, k = 50", "outsider", "membership",
         mk.ours(groups, "condensation", "k=50", split=True), members.distance_to_release),
    Case("condensation-many-columns", "condensation, k = 200, 60 columns", "outsider",
         "membership", mk.ours(many, "condensation", "k=200", split=True),
         members.along_the_release),
    Case("condensation-visits", "condensation, k = 20, of 20 visits a person", "outsider",
         "membership", mk.ours(t.visits, "condensation", "k=20", drop="patient", split=True),
         members.distance_to_release),
    Case("gaussian-members", "noise of scale 2, 60 columns", "outsider", "membership",
         mk.ours(partial(t.independent, 200, 60), "gaussian", "scale=2", split=True),
         members.likelier_with_it),
    Case("uniform-members", "uniform noise of scale 2, 40 columns", "outsider", "membership",
         mk.ours(partial(t.independent, 400, 40), "uniform", "scale=2", split=True),
         members.likelier_with_it),
    Case("rotation-members", "rotation of correlated columns", "outsider", "membership",
         mk.ours(ten, "rotation", split=True), members.as_far_from_the_mean),
    Case("uniform-households", "uniform noise of scale 120, 5 rows a household", "outsider", "r2",
         mk.ours(t.households, "uniform", "scale=120"), alone.ends_of_one_household),
    Case("multiplicative-one-quantity", "factors of scale 1, one quantity in 60 columns",
         "outsider", "r2", mk.ours(t.gauges, "multiplicative", "scale=1"),
         alone.ends_of_cut_factors),
    Case("gaussian-kinds", "noise of scale 3, 60 readings of eight models", "outsider", "r2",
         mk.ours(t.kinds, "gaussian", "scale=3"), alone.means_of_eight_models),
    Case("row-sizes", "noise of scale 4, a tenth of the rows is large in 40 columns",
         "outsider", "r2", mk.ours(t.active_rows, "gaussian", "scale=4"), alone.size_of_each_row),
    Case("row-sizes-trucks", "noise of scale 4, 12 principal components of trucks", "outsider",
         "r2", mk.ours(partial(t.real, "aps_train9000_pca12", 2000), "gaussian", "scale=4"),
         alone.size_of_each_row),
    Case("gaussian-profiles", "noise of scale 3, curves of 48 points", "outsider", "r2",
         mk.ours(t.profiles, "gaussian", "scale=3"), alone.neighboring_columns),
    Case("square-two-units", "square of two units to 2 columns of 16", "insider", "linked",
         mk.ours(partial(t.real, "pendigits", 800), "square", "n_hidden=2", "n_components=2"),
         pairs.two_squares),
    Case("linear-one-quantity", "linear to 2 columns, 12 scores of one ability", "outsider", "r2",
         mk.ours(t.scores, "linear", "n_components=2"), alone.main_direction),
]  # fmt: skip

SETTINGS = [
    Case("kept-numbers", "noise of scale 5, two numbers of ten as they are", "outsider", "r2",
         mk.ours(ten, "gaussian", "scale=5", keep="c0,c1"), alone.kept_numbers),
    Case("kept-moment", "noise of scale 6, the minute of a visit as it is", "outsider", "r2",
         mk.ours(t.appointments, "gaussian", "scale=6", keep="at"), alone.means_by_weekday),
    Case("kept-code", "noise of scale 6, a code with a prefix as it is", "outsider", "r2",
         mk.ours(t.parcels, "gaussian", "scale=6", keep="code"), alone.means_by_first_letters),
    Case("kept-code-sample", "noise of scale 6, a code as it is", "acquainted", "r2",
         mk.ours(t.parcels, "gaussian", "scale=6", keep="code"),
         alone.sample_means_by_first_letters),
    Case("kept-words", "noise of scale 6, a list of words as it is", "outsider", "r2",
         mk.ours(t.patients, "gaussian", "scale=6", keep="diagnoses"), alone.sum_of_words),
    Case("sorted-rows", "noise of scale 4, rows sorted by a column", "outsider", "r2",
         mk.ours(in_order, "gaussian", "scale=4"), alone.smooth_along_rows),
    Case("rounded", "rounded to half a deviation", "outsider", "r2",
         mk.foreign(diabetes, mk.rounded), alone.release_as_it_is),
    Case("ranks", "ranks instead of values", "outsider", "r2",
         mk.foreign(cardio, mk.ranks), alone.normal_quantiles),
    Case("main-components", "principal components of the table", "acquainted", "r2",
         mk.foreign(cardio, mk.main_components), pairs.forward_then_likeliest),
    Case("noise-along-a-line", "strong noise in one secret direction", "outsider", "r2",
         mk.foreign(apart, mk.noise_along_one_line), alone.off_the_line),
    Case("random-network", "an embedding by a random network", "insider", "r2",
         mk.foreign(ten, mk.random_network), pairs.backward_best),
    Case("among-decoys", "rows under noise among twice as many made-up ones", "insider", "linked",
         mk.foreign(few_digits, mk.among_decoys, named=True), foreign.exact_rows),
    Case("pseudonyms-of-answers", "whole numbers replaced by codes", "insider", "linked",
         mk.foreign(answers, mk.pseudonyms), foreign.codes),
    Case("sizes-from-directions", "a random factor for each row", "acquainted", "r2",
         mk.foreign(partial(t.clusters, 1500, 10), mk.factor_by_row), foreign.size_from_direction),
    Case("noise-then-projection", "noise of scale 4, then a projection to 3 columns of 12",
         "outsider", "r2",
         mk.twice(("gaussian", "scale=4"), twelve, "projection", "n_components=3"),
         alone.one_on_the_other),
    Case("noise-then-tanh", "noise of scale 4, then tanh", "outsider", "r2",
         mk.twice(("gaussian", "scale=4"), diabetes, "tanh"), alone.one_on_the_other),
    Case("projection-then-noise", "a projection to half of the columns, then noise of scale 4",
         "outsider", "r2",
         mk.twice(("projection",), pendigits, "gaussian", "scale=4"), alone.one_on_the_other),
    Case("control-noise-wide", "numbers that mean nothing, 60 columns", "insider", "resisted",
         mk.foreign(wide, mk.fresh_noise)),
    Case("control-synthetic-groups", "a fresh table of the same covariance", "insider", "resisted",
         mk.foreign(ten, mk.fresh_synthetic)),
]  # fmt: skip

MORE = [*METHODS, *SETTINGS]
