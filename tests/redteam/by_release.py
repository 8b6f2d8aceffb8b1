"""Scripts that need the release, its metadata and public facts, or a sample beside them."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
from scipy.ndimage import gaussian_filter1d
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.stats import norm, truncnorm
from sklearn.decomposition import FastICA
from sklearn.linear_model import Ridge
from sklearn.mixture import GaussianMixture

from isinglass import PublicMatrix
from tests.redteam.harness import Known, nearest, one_to_one, with_one


def release_as_it_is(k: Known) -> np.ndarray:
    """What was released is the guess."""
    return k.Z


def _noise(k: Known) -> np.ndarray:
    """Variance of the noise of each column: the metadata says how many deviations."""
    return (k.facts["parameters"]["scale"] * k.sd) ** 2


def group_means_of_release(k: Known) -> np.ndarray:
    """A kept category explains the rest: noisy means by category, shrunk by what noise leaves."""
    by = k.release["city"]
    means = pd.DataFrame(k.Z).groupby(by.to_numpy()).transform("mean").to_numpy()
    size = by.groupby(by).transform("size").to_numpy()[:, None]
    chance = (_noise(k) + k.sd**2 / 2) / size
    between = np.clip(((means - k.mean) ** 2 - chance).mean(axis=0), 0.1 * k.sd**2, k.sd**2)
    return k.mean + (means - k.mean) * between / (between + chance)


def group_means_of_sample(k: Known) -> np.ndarray:
    """The same with clean means from the sample and the pairs; noisy ones fill the gaps."""
    clean = pd.concat([k.sample, k.records])
    groups = clean.groupby("city")[k.hidden]
    within = (clean[k.hidden] - groups.transform("mean")).var().to_numpy()
    noisy = pd.DataFrame(k.Z, columns=k.hidden).groupby(k.release["city"].to_numpy())
    weight, total = 0.0, 0.0
    for groups_, spread in ((groups, within), (noisy, within + _noise(k))):
        means = groups_.mean().reindex(k.release["city"]).to_numpy()
        size = groups_.size().reindex(k.release["city"]).fillna(0).to_numpy()[:, None]
        weight = weight + size / spread
        total = total + np.nan_to_num(means - k.mean) * size / spread
    return k.mean + total / (weight + 1 / k.sd**2)


def _means_by(k: Known, groups: np.ndarray) -> np.ndarray:
    """Noisy means by group, drawn to the mean as if groups explained nearly everything."""
    size = pd.Series(groups).groupby(groups).transform("size").to_numpy()[:, None]
    means = pd.DataFrame(k.Z).groupby(groups).transform("mean").to_numpy()
    return k.mean + (means - k.mean) * k.sd**2 / (k.sd**2 + _noise(k) / size)


def means_by_weekday(k: Known) -> np.ndarray:
    """Every moment occurs once, but there are only seven weekdays."""
    return _means_by(k, pd.to_datetime(k.release["at"]).dt.day_name().to_numpy())


def means_by_first_letters(k: Known) -> np.ndarray:
    """A code begins with what its rows have in common."""
    return _means_by(k, k.release["code"].str.split("-").str[0].to_numpy())


def sample_means_by_first_letters(k: Known) -> np.ndarray:
    """The same from clean records of a sample."""
    clean = k.sample.groupby(k.sample["code"].str[:2])[k.hidden].mean()
    return clean.reindex(k.release["code"].str[:2]).fillna(clean.mean()).to_numpy()


def sum_of_words(k: Known) -> np.ndarray:
    """Each word of a list adds something: regress the noisy release on all of them."""
    has = k.release["diagnoses"].str.get_dummies(";").to_numpy(float)
    has = has - has.mean(axis=0)
    held = has.T @ has + 0.5 * k.facts["parameters"]["scale"] ** 2 * np.eye(has.shape[1])
    return k.mean + has @ np.linalg.solve(held, has.T @ (k.Z - k.Z.mean(axis=0)))


def exact_join(k: Known) -> np.ndarray:
    """Columns that left as they were are the name of the record."""
    kept = k.facts["kept"]
    rows = k.public.reset_index().drop_duplicates(kept).set_index(kept)["index"]
    return rows.reindex(pd.MultiIndex.from_frame(k.release[kept])).fillna(0).to_numpy(int)


def smooth_along_rows(k: Known) -> np.ndarray:
    """Rows in time order: neighbors share the signal, not the noise. Smooth its main directions."""
    vary = k.sd > 0
    Y = (k.Z[:, vary] - k.mean[vary]) / k.sd[vary]
    lagged = sum(Y[lag:].T @ Y[:-lag] for lag in (1, 2, 3, 4, 5))
    strength, axes = np.linalg.eigh(lagged + lagged.T)
    parts, out = Y @ axes, np.zeros_like(Y)
    for j in np.flatnonzero(strength > 0.02 * strength.max()):
        best = None
        for width in (1, 2, 4, 7, 12, 20, 35, 60):
            spike = gaussian_filter1d(np.eye(1, 801, 400)[0], width)[400]  # its weight on itself
            smooth = gaussian_filter1d(parts[:, j], width)
            others = (smooth - spike * parts[:, j]) / (1 - spike)
            slope = max(others @ parts[:, j] / (others @ others), 0)
            error = ((parts[:, j] - slope * others) ** 2).mean()
            if best is None or error < best[0]:
                best = (error, slope * smooth)
        out += np.outer(best[1], axes[:, j])
    guess = np.tile(k.mean, (len(Y), 1))
    guess[:, vary] += k.sd[vary] * out
    return guess


def between_known_rows(k: Known) -> np.ndarray:
    """Rows in time order: interpolate recognized rows, and what smoothing missed at them."""
    X, plain, smooth = k.values("records"), np.tile(k.mean, (len(k.Z), 1)), smooth_along_rows(k)
    (one, one_left_out), (two, two_left_out) = _kriged(k, X, smooth), _kriged(k, X, plain)
    for j in np.flatnonzero(k.sd):
        A = np.column_stack([one_left_out[:, j], two_left_out[:, j]]) - k.mean[j]
        prior = 0.05 * len(A) * k.sd[j] ** 2 * np.eye(2)
        weights = np.linalg.solve(A.T @ A + prior, A.T @ (X[:, j] - k.mean[j]))
        plain[:, j] += (np.column_stack([one[:, j], two[:, j]]) - k.mean[j]) @ weights
    return plain


def _kriged(k: Known, X: np.ndarray, trend: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The trend mended near recognized rows, and what it says of each of them without it."""
    missed = X - trend[k.rows]
    apart = np.abs(np.arange(len(trend))[:, None] - k.rows)
    guess, without, least = trend.copy(), trend[k.rows], (missed**2).mean(axis=0)
    for length, nugget in product((5, 10, 20, 40, 80, 160), (0.05, 0.3, 1.0, 3.0, 10.0)):
        near = np.exp(-apart / length)
        inverse = np.linalg.inv(near[k.rows] + nugget * np.eye(len(X)))
        left_out = inverse @ missed / np.diag(inverse)[:, None]
        best = (left_out**2).mean(axis=0) < least
        guess[:, best] = (trend + near @ inverse @ missed)[:, best]
        without[:, best] = (X - left_out)[:, best]
        least[best] = (left_out**2).mean(axis=0)[best]
    return guess, without


def _filtered(k: Known, C: np.ndarray, noise: np.ndarray) -> np.ndarray:
    return k.mean + (k.Z - k.mean) @ np.linalg.solve(C + np.diag(noise), C)


def wiener_of_sample(k: Known) -> np.ndarray:
    """The same with the covariance of a clean sample."""
    clean = np.vstack([k.values("sample"), k.values("records")])
    return _filtered(k, np.cov(clean.T), _noise(k))


def wiener_of_release(k: Known) -> np.ndarray:
    """Added noise: the release's covariance less the noise's is the table's; filter with it."""
    values, axes = np.linalg.eigh(np.cov(k.Z.T) - np.diag(_noise(k)))
    return _filtered(k, (axes * np.maximum(values, 0)) @ axes.T, _noise(k))


def posterior_mean(k: Known) -> np.ndarray:
    """Added noise: an average of clean records, weighted by how well the noise explains each."""
    clean = np.vstack([k.values("sample"), k.values("records")])
    noise = _noise(k) + 0.1 * k.sd**2
    far = (((k.Z[:, None] - clean) ** 2) / noise).sum(axis=2)
    weight = np.exp(-(far - far.min(axis=1, keepdims=True)) / 2)
    return weight @ clean / weight.sum(axis=1, keepdims=True)


def nearest_record(k: Known) -> np.ndarray:
    """The public record that the noise has to move least."""
    return nearest(k.Z / k.sd, k.values("public") / k.sd)


def in_the_box(k: Known) -> np.ndarray:
    """Uniform noise cannot pass its bound: the public record with the fewest columns beyond it."""
    reach = np.sqrt(3 * _noise(k)) * (1 + 1e-9)
    X, guess = k.values("public"), []
    for z in k.Z:
        off = np.abs(z - X)
        guess.append(np.lexsort(((off / reach).sum(axis=1), (off > reach).sum(axis=1)))[0])
    return np.array(guess)


def by_ratio(k: Known) -> np.ndarray:
    """Noise by factors: the public records whose factors are nearest to one, each taken once."""
    cost = np.zeros((len(k.Z), len(k.public)))
    for z, x in zip(k.Z.T, k.values("public").T, strict=True):
        cost += (z[:, None] - x) ** 2 / (x**2 + (1e-3 * np.abs(x).mean()) ** 2)
    return one_to_one(cost)


def independent_parts(k: Known) -> np.ndarray:
    """A turned table: independent components, named by where their extremes lie, then rescaled."""
    parts = FastICA(whiten="unit-variance", random_state=0, max_iter=2000).fit_transform(k.Z)
    parts = (parts - parts.mean(axis=0)) / parts.std(axis=0)
    want = np.column_stack([(k.low - k.mean) / k.sd, (k.high - k.mean) / k.sd])
    have = np.column_stack([parts.min(axis=0), parts.max(axis=0)])
    straight, turned = cdist(want, have), cdist(want, -have[:, ::-1])
    column, part = linear_sum_assignment(np.minimum(straight, turned))
    sign = np.where(straight <= turned, 1, -1)[column, part]
    return k.mean + k.sd * parts[:, part] * sign


def public_matrix_alone(k: Known) -> np.ndarray:
    """Multiparty: the public matrix is nearly the secret one; the best linear estimate with it."""
    said = k.facts["parameters"]
    matrix, alpha = PublicMatrix.from_json(said["public_matrix"]).matrix, said["alpha"]
    wide = k.high - k.low
    made_up = np.clip((k.mean + k.sd * k.rng.normal(size=(4000, len(wide))) - k.low) / wide, 0, 1)
    curve = said["curvature"] or 2.81242909
    F = 1 - np.exp(-curve * made_up**2)
    C, noise = np.diag(F.var(axis=0)), alpha**2 / 3 * (F**2).sum(axis=1).mean()
    gain = np.linalg.solve(matrix @ C @ matrix.T + noise * np.eye(len(matrix)), matrix @ C)
    flat = np.clip(F.mean(axis=0) + (k.Z - F.mean(axis=0) @ matrix.T) @ gain, 0, 0.94)
    return k.low + wide * np.sqrt(-np.log1p(-flat) / curve)


def kept_numbers(k: Known) -> np.ndarray:
    """Kept numbers explain the rest: regress the noisy release on them, the noise averages out."""
    K = with_one(k.release[k.facts["kept"]].to_numpy(float))
    weights, *_ = np.linalg.lstsq(K, k.Z, rcond=None)
    plain, left = K @ weights, np.cov((k.Z - K @ weights).T) - np.diag(_noise(k))
    values, axes = np.linalg.eigh(left)
    C = (axes * np.maximum(values, 0)) @ axes.T
    return plain + (k.Z - plain) @ np.linalg.solve(C + np.diag(_noise(k)), C)


def off_the_line(k: Known) -> np.ndarray:
    """Noise along one line: the release's strongest direction is the noise; take it out."""
    Y = (k.Z - k.mean) / k.sd
    line = np.linalg.svd(Y, full_matrices=False)[2][0]
    return k.mean + k.sd * (Y - np.outer(Y @ line, line))


def normal_quantiles(k: Known) -> np.ndarray:
    """Ranks: a column of known mean and deviation, taken for normal, between its known ends."""
    share = (k.Z - k.Z.min(axis=0) + 0.5) / (k.Z.max(axis=0) - k.Z.min(axis=0) + 1)
    return np.clip(k.mean + k.sd * norm.ppf(share), k.low, k.high)


def ends_of_one_quantity(k: Known) -> np.ndarray:
    """Uniform noise, all columns one quantity: it lies between the ends that all cells allow."""
    reach = np.sqrt(3 * _noise(k)) / k.sd
    Y = (k.Z - k.mean) / k.sd
    least, most = (Y - reach).max(axis=1) - 0.2, (Y + reach).min(axis=1) + 0.2
    levels = np.linspace(-3.5, 3.5, 500)
    within = (levels > least[:, None]) & (levels < most[:, None])
    weight = (within + 1e-9) * norm.pdf(levels)
    return k.mean + k.sd * (weight @ levels / weight.sum(axis=1))[:, None]


def ends_of_one_household(k: Known) -> np.ndarray:
    """The same where five rows in turn are one household: all their cells bound one number."""
    stacked = k.Z.reshape(len(k.Z) // 5, -1)
    wide = replace(
        k, release=pd.DataFrame(stacked), mean=np.tile(k.mean, 5), sd=np.tile(k.sd, 5)
    )  # fmt: skip
    return ends_of_one_quantity(wide).reshape(len(k.Z), -1)


def ends_of_cut_factors(k: Known) -> np.ndarray:
    """Factors around one are cut at nothing and at two: one quantity behind all columns, by law."""
    levels, own = np.linspace(-4, 4, 81), np.linspace(-2.4, 2.4, 7)
    weight, fits = norm.pdf(own), np.zeros((len(k.Z), 81))
    for i, level in enumerate(levels):
        values = [k.mean + k.sd * (0.957 * level + 0.29 * o) for o in own]
        chance = sum(
            w * truncnorm.pdf(k.Z / v, -1, 1, 1, 1) / v for w, v in zip(weight, values, strict=True)
        )
        fits[:, i] = np.log(chance + 1e-300).sum(axis=1) - level**2 / 2
    weights = np.exp(fits - fits.max(axis=1, keepdims=True))
    return k.mean + k.sd * 0.957 * (weights @ levels / weights.sum(axis=1))[:, None]


def means_of_eight_models(k: Known) -> np.ndarray:
    """Records of eight models: each row is the mean of its cluster, as surely as it is in it."""
    size = np.sqrt(_noise(k))
    Y = (k.Z - k.mean) / size
    axes = np.linalg.svd(Y, full_matrices=False)[2][:7]
    fitted = GaussianMixture(8, covariance_type="spherical", n_init=10, random_state=0)
    chance = fitted.fit(Y @ axes.T).predict_proba(Y @ axes.T)
    means = chance.T @ Y / (chance.sum(axis=0)[:, None] + size.mean() ** 2)
    return k.mean + chance @ means * size


def size_of_each_row(k: Known) -> np.ndarray:
    """Some rows are larger in all columns: what sizes there are, and how large each row may be."""
    Y, noise = (k.Z - k.mean) / k.sd, k.facts["parameters"]["scale"] ** 2
    wide = np.concatenate([[0.0], np.geomspace(1e-3, 300, 60)]) + noise
    fits = -0.5 * ((Y**2).sum(axis=1)[:, None] / wide + Y.shape[1] * np.log(wide))
    shares = np.ones(len(wide)) / len(wide)
    for _ in range(300):
        logs = fits + np.log(shares + 1e-300)
        chance = np.exp(logs - logs.max(axis=1, keepdims=True))
        chance /= chance.sum(axis=1, keepdims=True)
        shares = chance.mean(axis=0)
    return k.mean + k.sd * Y * (chance @ (1 - noise / wide))[:, None]


def neighboring_columns(k: Known) -> np.ndarray:
    """Columns are points of a curve: the smoothness under which the release is likeliest."""
    Y, size = (k.Z - k.mean) / k.sd, k.facts["parameters"]["scale"]
    apart = np.subtract.outer(np.arange(Y.shape[1]), np.arange(Y.shape[1]))
    best, guess = -np.inf, Y
    for length in (0.5, 1, 2, 3, 4, 6, 9):
        kernel = np.exp(-((apart / length) ** 2))
        whole = kernel + size**2 * np.eye(len(kernel))
        told = np.linalg.solve(whole, Y.T)
        likely = -(Y.T * told).sum() - len(Y) * np.linalg.slogdet(whole)[1]
        if likely > best:
            best, guess = likely, (kernel @ told).T
    return k.mean + guess * k.sd


def main_direction(k: Known) -> np.ndarray:
    """All columns measure one ability: the release's first component stands for each of them."""
    Y = k.Z - k.Z.mean(axis=0)
    left, size, _ = np.linalg.svd(Y, full_matrices=False)
    ability = left[:, 0] * np.sqrt(len(Y))
    ability *= np.sign((ability**3).mean())  # few are very able
    share = np.sqrt(size[0] ** 2 / (size**2).sum())
    return k.mean + 0.8 * share * ability[:, None] * k.sd


def ends_by_sample(k: Known) -> np.ndarray:
    """Uniform noise: records near those of the sample, by how far cells are beyond their reach."""
    reach, Y = np.sqrt(3 * _noise(k)) / k.sd, (k.Z - k.mean) / k.sd
    clean = (np.vstack([k.values("sample"), k.values("records")]) - k.mean) / k.sd
    center = clean.mean(axis=0)
    left, size, axes = np.linalg.svd(clean - center, full_matrices=False)
    main = slice(min(6, len(size)))
    rest = np.sqrt((size[6:] ** 2).sum() / clean.size) + 0.05
    places = (left * size)[:, main]
    drawn = 0.9 * places[k.rng.integers(len(places), size=3000)]
    drawn += 0.4 * places.std(axis=0) * k.rng.normal(size=drawn.shape)
    made, guess = center + drawn @ axes[main], []
    for y in Y:
        beyond = np.maximum(np.abs(y - made) - reach, 0).sum(axis=1)
        weight = np.exp((beyond.min() - beyond) / rest)
        guess.append(weight @ made / weight.sum())
    return k.mean + k.sd * np.array(guess)


def largest_is_the_largest(k: Known) -> np.ndarray:
    """One far value a column: the largest released number is the known maximum."""
    guess = np.tile(k.mean, (len(k.Z), 1))
    guess[k.Z.argmax(axis=0), np.arange(k.Z.shape[1])] = k.high
    return guess


def one_on_the_other(k: Known) -> np.ndarray:
    """Noise in one of two releases is not in the other: ridge regression of it, by five folds."""
    noisy, other = k.earlier.to_numpy(float), k.Z
    if noisy.shape[1] != len(k.mean) or k.facts["method"].endswith("noise"):
        noisy, other = other, noisy
    other = (other - other.mean(axis=0)) / other.std(axis=0)
    guess, least = np.tile(k.mean, (len(noisy), 1)), ((noisy - k.mean) ** 2).mean(axis=0)
    fold = k.rng.permutation(len(noisy)) % 5
    for strength in np.logspace(-1, 4, 11):
        model = Ridge(alpha=strength)
        left_out = np.empty_like(noisy)
        for part in range(5):
            apart = fold == part
            left_out[apart] = model.fit(other[~apart], noisy[~apart]).predict(other[apart])
        error = ((left_out - noisy) ** 2).mean(axis=0)
        better = error < least
        guess[:, better] = model.fit(other, noisy).predict(other)[:, better]
        least[better] = error[better]
    return guess
