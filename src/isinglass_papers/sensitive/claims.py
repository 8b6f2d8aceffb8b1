"""What the paper concludes from its experiments, and what ours say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from isinglass.curate.questions.neighbor_counter import NeighborCounter
from isinglass.curate.space import Space
from isinglass.detect.metric import declare
from isinglass_papers.core.partial_claims import on_sets
from isinglass_papers.core.result import Claim, Verdict
from isinglass_papers.sensitive.example import BETA, EPSILON, KS, Example
from isinglass_papers.sensitive.figures import EPSILONS, anomaly_errors, levels, repeated
from isinglass_papers.sensitive.printed import FOUR, TABLES, twin
from isinglass_papers.sensitive.records import Array, MeasuredTable, error, lone_error, mechanisms

_COIN = 1 / (1 + np.exp(0.1))
# Rank correlation of beta and error: of six tables, two neighbors in the order may be swapped.
RANKS = -0.8
# An error of one in twenty is about zero beside a coin's; a lost accuracy below 0.01 is hardly any.
ZERO, HARDLY = 0.05, 0.01
# "Far less" is less than half.
FAR_LESS = 0.5
# "Most" of the random places, of which the print counts nearly all; and most of the anomalies.
NEARLY_ALL, MOST = 0.9, 0.5
# "Little" on the larger tables, those with a beta above thyroid's: one answer in two hundred.
LITTLE = 0.005
# A mean within this of the coin's error is the coin's: four digits are printed.
SAME = 1e-3
# Printed precisions of four digits leave the false calls they imply 2 % of room.
EQUAL = 0.02


def _if(good: bool, bad: Verdict = "does not hold") -> Verdict:
    return "holds" if good else bad


def example_claims(made: Example) -> list[Claim]:
    """Figures 2 and 3, on the example."""
    few = made.near <= BETA
    order = np.argsort(made.near[few], kind="stable")
    sp, dp = made.accuracy["SP"][few][order], made.accuracy["DP"][few]
    falling = bool((np.diff(sp) <= 1e-12).all())
    epsilon = float(EPSILON)
    kept = {k: float((made.loss[str(k)] <= epsilon * (1 + 1e-9)).mean()) for k in KS}
    most = {k: float(made.loss[str(k)].max()) for k in KS}
    by_near = made.loss["1"][few][order]
    level = bool(np.allclose(made.loss["DP"], epsilon))
    level = level and bool((made.loss["1"][~few] <= epsilon * (1 + 1e-9)).all())
    level = level and bool((np.diff(by_near) <= 1e-12).all()) and by_near[0] > by_near[-1]
    grows = kept[KS[0]] < kept[KS[1]] < kept[KS[2]]
    return [
        Claim(
            "Figure 2b, c", "the more outlying a record, the more accurate sensitive privacy is, "
            "and not so differential privacy", _if(falling and float(np.ptp(dp)) < 1e-12),
            f"over the {int(few.sum())} anomalies of the example accuracy falls from {sp[0]:.4f} "
            f"for the loneliest to {sp[-1]:.4f}; differential privacy has {dp.min():.4f} for all",
        ),
        Claim(
            "Figure 2d, e", "normal records have the privacy that all have under differential "
            "privacy; the more outlying a record, the less it keeps", _if(level),
            f"under differential privacy records lose {made.loss['DP'].min():.3g} to "
            f"{made.loss['DP'].max():.3g}; under sensitive privacy with k = 1 {kept[1]:.1%} lose "
            f"no more than {epsilon:g}, and anomalies {by_near[-1]:.2f} to {by_near[0]:.2f}, which "
            "the loneliest does",
        ),
        Claim(
            "Figure 3", "a larger k makes more records sensitive", _if(grows),
            "; ".join(f"k = {k}: {kept[k]:.1%} lose no more than {epsilon:g}, the loneliest loses "
                      f"{most[k]:.2f}" for k in KS),
        ),
    ]  # fmt: skip


def claims(found: Sequence[MeasuredTable], seed: int) -> list[Claim]:
    """Conclusions from the tables that are there."""
    rules = (_sizes, _small_epsilon, _coin, _normal, _random, _larger_k, _baselines)
    there = len({each.case.printed for each in found})  # two files are parts of one table
    made = [on_sets(rule(found), there, len(TABLES)) for rule in rules]
    fraud = [each for each in found if each.case.name == "credit_fraud"]
    copies = [_copies(each, seed) for each in fraud] or [_absent(*_COPIES)]
    return [*made, *copies, _repeats(), _false_calls()]


_COPIES = (
    "Section 5, Figure 10",
    "differential privacy errs less only about the few anomalies that have copies",
)
_FITTED = "Section 5", "the experiments are sensitively private"


def _absent(where: str, says: str) -> Claim:
    return Claim(where, says, "not tested", "the card-fraud table is missing")


def not_fitted() -> Claim:
    """The place of `fitted_on_itself` where its table is missing."""
    return _absent(*_FITTED)


def _listed(found: Sequence[MeasuredTable], values: Sequence[float], form: str = ".3g") -> str:
    return ", ".join(
        f"{value:{form}} on {each.short}" for each, value in zip(found, values, strict=True)
    )


def _sizes(found: Sequence[MeasuredTable]) -> Claim:
    by_beta = sorted(found, key=lambda each: each.case.beta)
    errors = [each.errors.sensitive for each in by_beta]
    order = np.argsort(np.argsort(errors)).astype(np.float64)
    rank = np.corrcoef(order, np.arange(len(errors)))[0, 1] if len(errors) > 2 else 0.0
    return Claim(
        "Section 5, Figure 6", "the larger the table, and with it beta, the smaller the error of "
        "sensitive privacy on anomalies",
        _if(rank <= RANKS) if len(errors) > 2 else "not tested",
        f"mean errors at epsilon 0.1, by growing beta: {_listed(by_beta, errors)}; correlation of "
        f"ranks {rank:.2f}",
    )  # fmt: skip


def _small_epsilon(found: Sequence[MeasuredTable]) -> Claim:
    middle = {
        epsilon: [float(np.median(anomaly_errors(each, epsilon)["sensitive"])) for each in found]
        for epsilon in EPSILONS
    }
    small = {epsilon: max(values) < ZERO for epsilon, values in middle.items()}
    verdict: Verdict = "holds" if all(small.values()) else "does not hold"
    if small[EPSILONS[-1]] and not all(small.values()):
        verdict = "holds conditionally"
    lone = {name: lone_error(printed.beta, "0.01") for name, printed in TABLES.items()}
    return Claim(
        "Section 5, Figure 6", "errors of sensitive privacy on anomalies are overwhelmingly about "
        "zero, also for the smaller epsilons", verdict,
        ("epsilon times beta must be large. " if verdict == "holds conditionally" else "")
        + "Medians "
        + "; ".join(f"at epsilon {e}: {_listed(found, middle[e])}" for e in reversed(EPSILONS))
        + ". A lone record at 0.01 with the printed beta: "
        + ", ".join(f"{value:.2g} on {name}" for name, value in lone.items()),
    )  # fmt: skip


def _coin(found: Sequence[MeasuredTable]) -> Claim:
    gap = max(abs(each.errors.dp - _COIN) for each in found)
    gain = [each.errors.dp / each.errors.sensitive for each in found]
    return Claim(
        "Section 5, Figure 7", "on anomalies differential privacy errs about 1/(1 + e^epsilon), "
        "and sensitive privacy far less", _if(gap < SAME and min(gain) > 1 / FAR_LESS),
        f"means within {gap:.0e} of {_COIN:.4f}, and this many times the error of sensitive "
        f"privacy: {_listed(found, gain)}",
    )  # fmt: skip


def _normal(found: Sequence[MeasuredTable]) -> Claim:
    gap = max(each.errors.normal_gap for each in found)
    thyroid = TABLES["Thyroid"].beta
    large = [each.errors.normal_dp for each in found if each.case.beta > thyroid]
    return Claim(
        "Section 5, Figure 8", "on normal records both mechanisms err alike, and little on larger "
        "tables", _if(gap == 0 and max(large) < LITTLE),
        f"largest difference for one record {gap:g}; means "
        f"{_listed(found, [each.errors.normal_dp for each in found])}",
    )  # fmt: skip


def _random(found: Sequence[MeasuredTable]) -> Claim:
    share = min(each.errors.random_share for each in found)
    better = all(
        np.mean(e.errors.random_sensitive) < FAR_LESS * np.mean(e.errors.random_dp) for e in found
    )
    means = [float(np.mean(each.errors.random_sensitive)) for each in found]
    coins = [float(np.mean(each.errors.random_dp)) for each in found]
    return Claim(
        "Section 5, Table 2", "on random records sensitive privacy errs far less, as most of them "
        "are anomalous", _if(better and share > NEARLY_ALL),
        f"at least {share:.1%} of the places are; errors {_listed(found, means)}, and "
        f"{min(coins):.3f} to {max(coins):.3f} with differential privacy",
    )  # fmt: skip


def _larger_k(found: Sequence[MeasuredTable]) -> Claim:
    shares = []
    for each in found:
        k = levels(each.case.beta)[-1]
        shares.append(float((anomaly_errors(each, "1", k)["sensitive"] < HARDLY).mean()))
    return Claim(
        "Section 5, Figure 9", "also with k = 0.3 beta sensitive privacy does well, and for large "
        "tables most records lose hardly any accuracy", _if(min(shares) > MOST),
        f"at epsilon 1 an error below {HARDLY} for this share of the anomalies: "
        f"{_listed(found, shares, '.1%')}",
    )  # fmt: skip


def _baselines(found: Sequence[MeasuredTable]) -> Claim:
    f1 = {name: [each.score(name).f1 for each in found] for name in ("B1", "B2", "dp", "sensitive")}
    ordered = all(
        max(b1, b2) < dp < sp
        for b1, b2, dp, sp in zip(f1["B1"], f1["B2"], f1["dp"], f1["sensitive"], strict=True)
    )
    return Claim(
        "Section 5, Table 3", "sensitive privacy outperforms all baselines, and differential "
        "privacy the other two", _if(ordered),
        f"F1 of SP {_listed(found, f1['sensitive'])}; DP {min(f1['dp']):.3g} to "
        f"{max(f1['dp']):.3g}; B1, B2 at most {max(f1['B1'] + f1['B2']):.3g}, as they answer alike "
        "about every record. Asked without presence, plain differential privacy has SP's F1 to "
        f"{max(abs(each.score('sparse').f1 - each.score('sensitive').f1) for each in found):.0e}",
    )  # fmt: skip


def _copies(fraud: MeasuredTable, seed: int) -> Claim:
    counts = fraud.counts[fraud.anomalous]
    stored = fraud.copied > 0
    labels = fraud.labels[fraud.anomalous].tolist()
    used = counts if stored else repeated(counts, labels, seed)
    twice = used[:, 0] > 1
    wrong = error(mechanisms(fraud.case.beta, fraud.case.r, "1")["dp"], used)
    with_copies, without = (wrong[rows] if rows.any() else np.full(1, np.nan)
                            for rows in (twice, ~twice))  # fmt: skip
    # All of those with copies err less than any without, and they are the fewer.
    less = bool(with_copies.max() < without.min()) and twice.mean() < MOST
    return Claim(
        *_COPIES, _if(less) if stored else "not tested",
        f"{fraud.copied} of {len(counts)} anomalies of our table have a copy. "
        + ("They err" if stored else "With repeats put back at the original's rate (a stand-in) "
           f"{int(twice.sum())} have, and err")
        + f" {float(with_copies.mean()):.3f} instead of {float(without.mean()):.3f} at epsilon 1",
    )  # fmt: skip


def _repeats() -> Claim:
    fraud, synthetic = TABLES["Credit Fraud"], TABLES["Synthetic"]
    same = [FOUR[at] for at in range(4) if twin("Credit Fraud", at) == "Synthetic"]
    # Whoever answers alike about all records has the share of anomalies as precision.
    wrong = abs(fraud.precision[0] - fraud.share) > abs(fraud.precision[0] - synthetic.share)
    return Claim(
        "Table 3", "the scores of Credit Fraud are its own", _if(not (same and wrong)),
        f"precision, recall and F1 of {', '.join(same) or 'no mechanism'} are those of Synthetic, "
        f"digit by digit; B1's precision must be the share of anomalies, {fraud.share:.2g} by "
        f"Table 1, and {fraud.precision[0]} is printed, while Synthetic's share is "
        f"{synthetic.share:.4f}",
    )  # fmt: skip


def _false_calls() -> Claim:
    calls = {name: (t.false_calls(2), t.false_calls(3)) for name, t in TABLES.items()}
    unequal = [name for name, (dp, sp) in calls.items() if abs(dp / sp - 1) > EQUAL]
    inexact = [
        f"{FOUR[at]}'s on {name}, {t.f1[at]}, for {t.implied_f1(at):.4f}"
        for name, t in TABLES.items()
        for at in range(4)
        if abs(t.implied_f1(at) - t.f1[at]) > 2e-4
    ]
    return Claim(
        "Table 3 against Figure 8", "the printed scores agree with equal errors on normal records",
        _if(not unequal),
        "false calls that printed precision and recall imply, for DP and SP: "
        + "; ".join(f"{name} {dp:,.1f} and {sp:,.1f}" for name, (dp, sp) in calls.items())
        + f". They must be equal, and are not on {' and '.join(unequal) or 'none'}; printed F1 "
        f"that are not those of precision and recall: {', '.join(inexact) or 'none'}",
    )  # fmt: skip


def fitted_on_itself(X: Array, r: float, n_components: int) -> Claim:
    """What one record does to everybody's neighbors when components are fitted on the table."""
    farthest = int((X**2).sum(axis=1).argmax())
    rest = np.delete(X, farthest, axis=0)
    metric = declare("euclidean", None, None, n_components)
    near = []
    for fitted_on in (X, rest):
        # Said to be public, though it is the private table: that is the mistake shown here.
        space = Space.fitted(fitted_on, public=True, scale=None, n_components=n_components)
        near.append(NeighborCounter(space.places(rest), metric).within(space.places(rest), r))
    moved = np.abs(near[0] - near[1])
    # Private given a fit from elsewhere; that this one is not is shown by what one record moves.
    return Claim(
        *_FITTED, "holds conditionally" if moved.any() else "not reproduced",
        "components, beta and r were fitted on the private table, which no guarantee covers. On "
        f"{len(X):,} records of the card-fraud table, leaving one out of the fit changes how many "
        f"of the others are within r of each other for {int((moved > 0).sum()):,} of {len(rest):,} "
        f"records, by up to {int(moved.max()):,}, where none may change",
    )  # fmt: skip
