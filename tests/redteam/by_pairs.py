"""Scripts that learn from recognized records: forwards, backwards, and unit by unit."""

from __future__ import annotations

import numpy as np
from scipy.linalg import block_diag, null_space
from scipy.optimize import least_squares, minimize
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from tests.redteam.harness import Known, nearest, one_to_one, with_one


def _unit(k: Known, of: str) -> np.ndarray:
    """Records between 0 and 1, as every method here scales them."""
    return (k.values(of) - k.low) / np.where(k.high > k.low, k.high - k.low, 1)


def _forward(k: Known, features) -> np.ndarray:
    """Fit release = linear in features(record) on the pairs; match the public table by residual."""
    known, public = features(_unit(k, "records")), features(_unit(k, "public"))
    weights, *_ = np.linalg.lstsq(known, k.Z[k.rows], rcond=None)
    loose = (k.Z[k.rows] - known @ weights).std(axis=0) + 1e-9
    return nearest(k.Z / loose, public @ weights / loose)


def forward_affine(k: Known) -> np.ndarray:
    """Release = affine in the record, fitted on pairs; public records matched by residual."""
    return _forward(k, with_one)


def forward_quadratic(k: Known) -> np.ndarray:
    """Release = quadratic in the record, fitted on pairs; public records matched by residual."""
    return _forward(k, PolynomialFeatures(2).fit_transform)


def forward_double_logistic(k: Known) -> np.ndarray:
    """Multiparty: z is linear in a public function of the record, so d pairs are enough."""
    b = k.facts["parameters"]["curvature"] or 2.81242909
    return _forward(k, lambda U: with_one(1 - np.exp(-b * U**2)))


def every_combination(k: Known) -> np.ndarray:
    """Release = affine in the record; of all records of the answers seen, the one that fits."""
    weights, *_ = np.linalg.lstsq(with_one(k.values("records")), k.Z[k.rows], rcond=None)
    answers = [np.unique(column) for column in k.values("records").T]
    everybody = np.stack(np.meshgrid(*answers), axis=-1).reshape(-1, len(answers))
    return everybody[nearest(k.Z, with_one(everybody) @ weights)]


def forward_kernel(k: Known) -> np.ndarray:
    """Any smooth map: a process fitted forwards, public records scored by their residual."""
    kernel = ConstantKernel(10) * RBF(1.0) + WhiteKernel(1e-3)
    model = GaussianProcessRegressor(kernel, normalize_y=True, random_state=0)
    scale = StandardScaler().fit(k.values("records"))
    model.fit(scale.transform(k.values("records")), k.Z[k.rows])
    return nearest(
        k.Z / k.Z.std(0), model.predict(scale.transform(k.values("public"))) / k.Z.std(0)
    )


def backward_affine(k: Known) -> np.ndarray:
    """Record = affine in the release, fitted on pairs."""
    back, *_ = np.linalg.lstsq(with_one(k.Z[k.rows]), k.values("records"), rcond=None)
    return with_one(k.Z) @ back


def backward_best(k: Known) -> np.ndarray:
    """Affine, quadratic or kernel, whichever predicts left-out pairs best, column by column."""
    Z, X = k.Z, k.values("records")
    ridge = RidgeCV(np.logspace(-8, 3, 12))
    kernel = {"alpha": np.logspace(-8, 0, 5), "gamma": np.logspace(-3, 0, 4) / Z.shape[1]}
    models = [
        make_pipeline(StandardScaler(), ridge),
        make_pipeline(StandardScaler(), PolynomialFeatures(2), StandardScaler(), ridge),
        make_pipeline(StandardScaler(), GridSearchCV(KernelRidge(kernel="rbf"), kernel, cv=4)),
    ]
    mean, sd = X.mean(0), X.std(0) + 1e-12
    left_out = [cross_val_predict(m, Z[k.rows], (X - mean) / sd, cv=5) for m in models]
    errors = [((p - (X - mean) / sd) ** 2).mean(axis=0) for p in left_out]
    guesses = [m.fit(Z[k.rows], (X - mean) / sd).predict(Z) for m in models]
    best = np.argmin(errors, axis=0)
    return mean + sd * np.column_stack([guesses[b][:, j] for j, b in enumerate(best)])


def forward_then_likeliest(k: Known) -> np.ndarray:
    """Pairs give the map, a sample the covariance: the likeliest record for what was released."""
    bend, straighten = _curve(k)
    records, clean = (
        bend(k.values("records")),
        bend(np.vstack([k.values("sample"), k.values("records")])),
    )
    mean, C = clean.mean(axis=0), np.cov(clean.T)
    A = with_one(records - mean)
    P, *_ = np.linalg.lstsq(A, k.Z[k.rows], rcond=None)
    seen = P[:-1].T @ C @ P[:-1]
    noise = (k.Z[k.rows] - A @ P).var(axis=0) * len(A) / max(len(A) - A.shape[1], 1)
    more = k.Z.var(axis=0) - np.diag(seen)  # a column that is constant among the pairs shows here
    noise = np.where(more > 3 * noise + 0.15 * k.Z.var(axis=0), more, noise) + 1e-12 * np.diag(seen)
    return straighten(mean + (k.Z - P[-1]) @ np.linalg.solve(seen + np.diag(noise), P[:-1].T @ C))


def _curve(k: Known):
    """Multiparty bends every column by a public function first; others do not."""
    if "curvature" not in k.facts.get("parameters", {}):
        return (lambda X: X), (lambda X: X)
    b, wide = k.facts["parameters"]["curvature"] or 2.81242909, k.high - k.low
    return (
        lambda X: 1 - np.exp(-b * ((X - k.low) / wide) ** 2),
        lambda Y: k.low + wide * np.sqrt(-np.log1p(-np.clip(Y, 0, 0.94)) / b),
    )


def forward_affine_once(k: Known) -> np.ndarray:
    """The same as forward_affine, but no record is given to two rows."""
    weights, *_ = np.linalg.lstsq(with_one(_unit(k, "records")), k.Z[k.rows], rcond=None)
    return one_to_one(cdist(k.Z, with_one(_unit(k, "public")) @ weights, "sqeuclidean"))


def backward_boosting(k: Known) -> np.ndarray:
    """Boosted trees from the release to each column."""
    model = HistGradientBoostingRegressor(min_samples_leaf=5, random_state=0)
    X = k.values("records")
    return np.column_stack([model.fit(k.Z[k.rows], column).predict(k.Z) for column in X.T])


def nearest_known(k: Known) -> np.ndarray:
    """The mean of the recognized records whose released rows look most alike."""
    scale = k.Z.std(axis=0) + 1e-12
    near = cKDTree(k.Z[k.rows] / scale).query(k.Z / scale, k=5)[1]
    return k.values("records")[near].mean(axis=1)


def backward_link(k: Known) -> np.ndarray:
    """The best guess of the values, and the public record next to it."""
    return nearest(backward_best(k) / k.sd, k.values("public") / k.sd)


def unit_pursuit(k: Known) -> np.ndarray:
    """Tanh: a hidden unit is a (w, a) with tanh(w·x + a) linear in the release. Find them all."""
    U, V, d = with_one(_unit(k, "records") - 0.5), with_one(k.Z[k.rows]), len(k.hidden)
    every, _ = np.linalg.qr(V)
    length = k.facts["parameters"]["slope"] * np.sqrt(d)  # of each unit; all are orthogonal
    if k.facts["parameters"]["activation"] == "logistic":
        length /= 2  # 1 / (1 + exp(-v)) is a tanh of v / 2
    W, Q = np.zeros((0, d + 1)), np.zeros((V.shape[1], 0))
    for start in range(150):
        free = null_space(W[:, :-1]) if len(W) else np.eye(d)  # where the next unit points
        rest = null_space(Q[:-1].T) if len(W) else np.eye(V.shape[1] - 1)  # what it explains
        if not free.size:
            break
        basis, _ = np.linalg.qr(with_one(V[:, :-1] @ rest))
        w = free @ k.rng.normal(size=free.shape[1])
        w *= length / np.linalg.norm(w)
        lift, bend = block_diag(free, 1), U[start % len(U), :-1] @ w  # it bends near some record
        first = _search(lift.T @ np.r_[w, -bend], U @ lift, basis)
        found = _search(lift @ first.x, U, every)  # again, with nothing taken away
        if first.fun < -12 and found.fun < -35:
            W = np.vstack([W, found.x])
            Q = np.column_stack([Q, np.linalg.lstsq(V, np.tanh(U @ found.x), rcond=None)[0]])
    if len(W) == d - 1:
        W, Q = _last_unit(W, Q, U, V, length)
    inner = np.arctanh(np.clip(with_one(k.Z) @ Q, -1 + 1e-15, 1 - 1e-15)) - W[:, -1]
    start = (backward_best(k) - k.low) / (k.high - k.low) - 0.5  # for what no unit says
    step = (inner - start @ W[:, :-1].T) @ np.linalg.pinv(W[:, :-1]).T
    return k.low + (k.high - k.low) * np.clip(start + step + 0.5, 0, 1)


def _last_unit(W, Q, U, V, length):
    """What is left when all units but one are found: right angles leave only signs to choose."""
    w, q = length * null_space(W[:, :-1])[:, 0], null_space(Q[:-1].T)[:, 0]
    q = np.r_[q * np.linalg.norm(Q[:-1], axis=0).mean(), Q[-1].mean()]
    fits = []
    for w_, q_ in ((w, q), (w, np.r_[-q[:-1], q[-1]])):
        shift = np.arctanh(np.clip(V @ q_, -1 + 1e-15, 1 - 1e-15)) - U[:, :-1] @ w_
        sure = np.argsort(np.abs(V @ q_))[: len(U) // 3]  # far from saturation
        fits.append((shift[sure].std(), np.r_[w_, np.median(shift[sure])], q_))
    spread, unit, mixer = min(fits, key=lambda fit: fit[0])
    if spread > 0.1:  # saturated among all pairs: nothing can be said of it
        return W, Q
    return np.vstack([W, unit]), np.column_stack([Q, mixer])


def _search(start, U, basis):
    return minimize(_unexplained, start, (U, basis), jac=True, method="BFGS")


def _unexplained(v, U, basis):
    """Log of the share of a unit's variance that the release leaves open, and its slope."""
    t = np.tanh(U @ v)
    c = t - t.mean()
    r = t - basis @ (basis.T @ t)
    left, total = r @ r + 1e-30, c @ c + 1e-28
    return np.log(left / total), U.T @ (2 * (r / left - c / total) * (1 - t * t))


def two_squares(k: Known) -> np.ndarray:
    """Two squared sums, mixed: every weight at once by least squares, then the nearest record."""
    center, unit = k.values("public").mean(axis=0), k.values("public").std(axis=0)
    X, P = ((k.values(of) - center) / unit for of in ("records", "public"))
    Z = (k.Z - k.Z.mean(axis=0)) / k.Z.std(axis=0)
    d = X.shape[1]

    def made(w: np.ndarray, rows: np.ndarray) -> np.ndarray:
        inner = rows @ w[: 2 * d].reshape(d, 2) + w[2 * d : 2 * d + 2]
        return inner**2 @ w[2 * d + 2 : 2 * d + 6].reshape(2, 2) + w[2 * d + 6 :]

    best = None
    for _ in range(8):
        start = k.rng.normal(size=2 * d + 8) * 0.3
        fit = least_squares(lambda w: (made(w, X) - Z[k.rows]).ravel(), start, max_nfev=200)
        best = fit if best is None or fit.cost < best.cost else best
        if best.cost < 1e-12:
            break
    return nearest(Z, made(best.x, P))
