"""The autoencoder: its formula, its training, its threshold, and the file it becomes."""

import copy
import io
import pickle
import re
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.utils.estimator_checks import check_estimator

import isinglass as ig
from isinglass import chance
from isinglass.detect import network
from isinglass.errors import IsinglassError, ReleaseError
from isinglass.table.scale import learned_scaling

RNG = np.random.default_rng(5)
TABLE = RNG.normal(size=(300, 2)) @ RNG.normal(size=(2, 6)) + 0.05 * RNG.normal(size=(300, 6))
CPU = torch.device("cpu")


def small(**settings):
    return ig.Autoencoder(**({"max_epochs": 20, "random_state": 0} | settings))


def factor_data(n_features, n_factors, seed, n_rows=1000):
    """Records that lie near a few dimensions, in [0, 1]."""
    rng = np.random.default_rng(seed)
    made = rng.random((n_rows, n_factors)) @ rng.normal(size=(n_factors, n_features))
    made += 0.02 * rng.normal(size=made.shape)
    return (made - made.min(axis=0)) / np.ptp(made, axis=0)


def with_anomalies(table, seed):
    """The paper's protocol: 5 % uniform records, half for training; parts and the test's truth."""
    rng = np.random.default_rng(seed)
    strange = rng.random((len(table) // 20, table.shape[1]))
    order = rng.permutation(len(table) + len(strange))
    rows, truth = np.vstack([table, strange])[order], (order >= len(table))
    half = len(rows) // 2
    return rows[:half], rows[half:], truth[half:]


def sigmoid(t):
    return 1 / (1 + np.exp(-t))


def score_plain(detector, X):
    """The formula in NumPy: scale, cut, two layers, mean squared error."""
    low, high = detector._scaling.low, detector._scaling.high
    z = (X - low) / np.where(high > low, high - low, 1)
    W, a, V, b = (p.astype(np.float64) for p in detector._weights.parts())
    out = sigmoid(np.clip(z, -1, 2) @ W + a) @ V + b
    out = sigmoid(out) if detector.output == "logistic" else out
    return ((z - out) ** 2).mean(axis=1)


both = pytest.mark.parametrize("output", ["linear", "logistic"])


# The contract.


@pytest.mark.filterwarnings("ignore")
@both
def test_scikit_learns_checks_pass(output):
    detector = small(max_epochs=5, output=output)
    results = check_estimator(detector, on_fail=None)
    assert [r["check_name"] for r in results if r["status"] == "failed"] == []


def test_the_docstring_says_what_holds_and_how_it_breaks():
    text = ig.Autoencoder.__doc__
    headings = ("Guarantee: none", "Utility:", "Weakness:", "Parameters", "References")
    places = [text.find(h) for h in headings]
    assert -1 not in places
    assert places == sorted(places)
    assert [p for p in ig.Autoencoder().get_params() if f"    {p} : " not in text] == []


def test_only_the_first_parameter_goes_without_its_name():
    assert ig.Autoencoder(3).n_hidden == 3
    with pytest.raises(TypeError):
        ig.Autoencoder(3, 100)


def test_the_module_loads_without_torch():
    code = (
        "import sys; from isinglass import Autoencoder; Autoencoder();"
        "assert 'torch' not in sys.modules and 'onnx' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_torch_or_onnx_one_sentence_says_what_to_install(monkeypatch, tmp_path):
    detector = small(max_epochs=1).fit(TABLE)
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "onnx", None)
        with pytest.raises(IsinglassError, match=r"onnx.*install isinglass\[neural\]"):
            detector.export(tmp_path / "model.onnx")
    monkeypatch.setitem(sys.modules, "torch", None)
    for use in (lambda: small().fit(TABLE), lambda: detector.anomaly_score(TABLE)):
        with pytest.raises(IsinglassError, match=r"torch.*install isinglass\[neural\]"):
            use()


# The formula.


@both
def test_the_gradient_is_that_of_the_mean_squared_error(output):
    logistic = output == "logistic"
    rng = np.random.default_rng(2)
    weights = network.draw(rng, 4, 3, logistic=logistic, dtype=np.float64)
    weights.flat[:] *= 10  # away from the flat start
    records = torch.from_numpy(rng.random((7, 4)))

    def loss(flat):
        shifted = network.Weights(4, 3, logistic, flat)
        return float(
            (network.TensorNetwork(shifted, CPU).output(records) - records).square().mean()
        )

    net = network.TensorNetwork(weights, CPU)
    total = net.back_propagate(records)
    assert float(total) / 28 == pytest.approx(loss(weights.flat), rel=1e-12)
    steps = 1e-6 * np.eye(len(weights.flat))
    slopes = [(loss(weights.flat + s) - loss(weights.flat - s)) / 2e-6 for s in steps]
    np.testing.assert_allclose(net.gradient.numpy(), slopes, atol=1e-9)


@both
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_score_is_the_formula(output, dtype):
    table = np.column_stack([TABLE, np.full(300, 7.0)]).astype(dtype)
    detector = small(output=output).fit(table)
    assert detector._weights.flat.dtype == dtype
    asked = np.vstack([table, 3 * table[:50], 100 * table[:50], table[:5] + 1])
    found = detector.anomaly_score(asked)
    assert found.dtype == np.float64
    rtol = 1e-10 if dtype == np.float64 else 2e-4
    np.testing.assert_allclose(found, score_plain(detector, asked.astype(float)), rtol=rtol)


def test_three_layers_about_half_as_many_units_and_a_start_within_a_tenth():
    for width, n_hidden in ((1, 1), (2, 1), (7, 3), (40, 20)):
        detector = small(max_epochs=0).fit(RNG.random((20, width)))
        assert detector.n_hidden_ == n_hidden
        W, a, V, b = detector._weights.parts()
        assert (W.shape, a.shape) == ((width, n_hidden), (n_hidden,))
        assert (V.shape, b.shape) == ((n_hidden, width), (width,))
    flat = detector._weights.flat
    assert np.abs(flat).max() <= 0.1
    # 1,660 uniform numbers: the outermost are within a hundredth of the ends.
    assert flat.min() < -0.099
    assert flat.max() > 0.099
    assert flat.std() == pytest.approx(0.1 / np.sqrt(3), rel=0.05)
    assert small(n_hidden=5, max_epochs=0).fit(TABLE).n_hidden_ == 5


def test_one_step_is_rate_times_gradient_then_momentum():
    weights = network.draw(np.random.default_rng(0), 3, 2, logistic=False, dtype=np.float64)
    records = np.random.default_rng(1).random((4, 3))
    settings = network.Settings(2, 0.25, 0.85, 4, 20, 0.0)
    after = network.train(
        weights, records, records[:0], settings,
        rng=np.random.default_rng(2), device=CPU, report=lambda *_: None,
    ).weights  # fmt: skip
    flat, velocity = weights.flat.copy(), 0.0
    for _ in range(2):
        net = network.TensorNetwork(network.Weights(3, 2, False, flat), CPU)
        net.back_propagate(torch.from_numpy(records))
        velocity = 0.85 * velocity - 0.25 * net.gradient.numpy()
        flat = flat + velocity
    np.testing.assert_allclose(after.flat, flat, rtol=1e-12)
    assert not np.allclose(after.flat, weights.flat, atol=1e-4)


# The threshold.


@both
def test_the_threshold_is_mean_plus_three_deviations_of_the_training_scores(output):
    detector = small(output=output).fit(TABLE)
    scores = detector.anomaly_score(TABLE)
    assert detector.threshold_ == pytest.approx(scores.mean() + 3 * scores.std(ddof=0), rel=1e-12)
    np.testing.assert_array_equal(
        detector.predict(TABLE), np.where(scores > detector.threshold_, -1, 1)
    )
    np.testing.assert_array_equal(small(output=output).fit_predict(TABLE), detector.predict(TABLE))


def test_contamination_is_the_share_of_records_above_the_threshold():
    detector = small(contamination=0.1)
    signs = detector.fit_predict(TABLE)
    assert (signs == -1).sum() == len(TABLE) // 10
    np.testing.assert_array_equal(signs, detector.predict(TABLE))
    with pytest.raises(ValueError, match="partial_fit sees a part"):
        small(contamination=0.1).partial_fit(TABLE)


def test_a_wild_record_does_not_show_in_the_threshold():
    wild = TABLE.copy()
    wild[17, 2] = 1e6
    wilder = TABLE.copy()
    wilder[17, 2] = 1e12
    calm, first, second = (small(bounds=(-5, 5)).fit(t) for t in (TABLE, wild, wilder))
    assert first.threshold_ == second.threshold_
    assert first.threshold_ < 20 * calm.threshold_
    assert first._weights.flat.tobytes() == second._weights.flat.tobytes()
    # Its own score is not cut.
    assert second.anomaly_score(wilder)[17] > 1e20
    assert second.predict(wilder)[17] == -1
    within = small().fit(wild)
    cut = np.clip(wild, *_one_span_beyond(within._scaling))
    scores = within.anomaly_score(cut)
    assert within.threshold_ == pytest.approx(scores.mean() + 3 * scores.std(), rel=1e-12)


def _one_span_beyond(scaling):
    span = scaling.high - scaling.low
    return scaling.low - span, scaling.high + span


# Scaling.


def test_learned_bounds_are_percentiles_and_no_records_value():
    for n_rows in (2, 3, 50, 1000, 1001, 3001):
        table = np.random.default_rng(n_rows).normal(size=(n_rows, 3))
        scaling = learned_scaling(table)
        ordered, k = np.sort(table, axis=0), (n_rows - 1) // 1000
        np.testing.assert_allclose(scaling.low, (ordered[k] + ordered[k + 1]) / 2, rtol=1e-12)
        np.testing.assert_allclose(scaling.high, (ordered[-k - 1] + ordered[-k - 2]) / 2)
        assert not np.isin(scaling.low, table).any()
        assert not np.isin(scaling.high, table).any()
        assert not scaling.declared
    low, high = np.quantile(table, [0.001, 0.999], axis=0)
    assert np.abs(scaling.low - low).max() < 0.2
    assert np.abs(scaling.high - high).max() < 0.2


def test_declared_bounds_are_used_as_they_are():
    detector = small(bounds=(-4.0, np.arange(4, 10))).fit(TABLE)
    np.testing.assert_array_equal(detector._scaling.low, np.full(6, -4.0))
    np.testing.assert_array_equal(detector._scaling.high, np.arange(4, 10))
    with pytest.raises(ValueError, match="bounds must be"):
        small(bounds="percentiles").fit(TABLE)


def test_a_change_in_a_constant_column_shows():
    table = np.column_stack([TABLE, np.full(300, 1e4)])
    detector = small(max_epochs=100).fit(table)
    changed = table[:20] + np.array([0] * 6 + [5])
    assert (detector.predict(changed) == -1).all()


def test_scores_of_enormous_values_are_infinite_and_flagged_never_nan():
    detector = small().fit(TABLE.astype(np.float32))
    far = TABLE[:2].astype(np.float32)
    far[:, 3] = [3e38, -2e38]
    assert np.isposinf(detector.anomaly_score(far)).all()
    assert (detector.predict(far) == -1).all()


# Training.


def test_the_same_seed_gives_the_same_bytes_whatever_the_threads():
    before = torch.get_num_threads()
    outcomes = []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            detector = small(output="linear").fit(TABLE)
            assert torch.get_num_threads() == threads
            outcomes.append(detector)
    finally:
        torch.set_num_threads(before)
    first, second = outcomes
    assert first._weights.flat.tobytes() == second._weights.flat.tobytes()
    assert first.threshold_ == second.threshold_
    assert first.loss_curve_ == second.loss_curve_
    other = small(random_state=1).fit(TABLE)
    assert other._weights.flat.tobytes() != first._weights.flat.tobytes()
    assert small(random_state=None).fit(TABLE).threshold_ != first.threshold_


def test_nobody_elses_randomness_is_touched():
    torch.manual_seed(3)
    np.random.seed(3)  # noqa: NPY002
    before = torch.get_rng_state(), np.random.get_state()[1].tobytes()  # noqa: NPY002
    flags = torch.are_deterministic_algorithms_enabled(), torch.is_grad_enabled()
    small(random_state=None).fit(TABLE).partial_fit(TABLE).anomaly_score(TABLE)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert np.random.get_state()[1].tobytes() == before[1]  # noqa: NPY002
    assert flags == (torch.are_deterministic_algorithms_enabled(), torch.is_grad_enabled())


def test_early_stopping_keeps_the_weights_that_were_best():
    # Few records, many units and a high rate: the held-back loss goes up and down.
    table = np.random.default_rng(8).random((60, 5))
    settings = {"n_hidden": 20, "learning_rate": 3.0, "patience": 15, "validation_fraction": 0.3}
    detector = small(max_epochs=500, **settings).fit(table)
    curve = detector.validation_curve_
    assert detector.n_epochs_ == len(curve) == len(detector.loss_curve_) < 500
    best = int(np.argmin(curve))
    assert best < len(curve) - 1
    # The same draws, stopped at the best epoch, end at the same weights.
    stopped = small(max_epochs=best + 1, **settings).fit(table)
    assert stopped._weights.flat.tobytes() == detector._weights.flat.tobytes()
    order = _held_back(table, detector)
    assert detector.anomaly_score(table[order]).mean() == pytest.approx(min(curve), rel=1e-9)


def _held_back(table, detector):
    """Which rows were held back: the draws of `fit` again."""
    rng = chance.generator(detector.random_state)
    network.draw(rng, table.shape[1], detector.n_hidden_, logistic=False, dtype=table.dtype)
    return rng.permutation(len(table))[: int(len(table) * detector.validation_fraction)]


def test_patience_counts_epochs_without_an_improvement_worth_it():
    detector = small(max_epochs=300, patience=2, tolerance=0.2).fit(TABLE)
    curve, mark, marked = detector.validation_curve_, np.inf, 0
    for epoch, loss in enumerate(curve, start=1):
        if loss < mark * 0.8:
            mark, marked = loss, epoch
    assert detector.n_epochs_ == marked + 2 < 300
    assert min(curve) < mark, "a small improvement must not have counted"
    order = _held_back(TABLE, detector)
    assert detector.anomaly_score(TABLE[order]).mean() == pytest.approx(min(curve), rel=1e-9)


def test_without_held_back_records_every_epoch_is_run():
    for detector in (small(validation_fraction=0.0).fit(TABLE), small(patience=1).fit(TABLE[:9])):
        assert detector.n_epochs_ == 20
        assert detector.validation_curve_ == []
        assert detector.loss_curve_[-1] < detector.loss_curve_[0]


@pytest.mark.parametrize("held", [0.0, 0.1])
def test_a_loss_that_overflows_is_an_error_and_what_was_learned_stays(held):
    detector = small(validation_fraction=held).fit(TABLE)
    before, curve = detector._weights.flat.tobytes(), list(detector.loss_curve_)
    detector.set_params(learning_rate=1e6, max_epochs=300)
    for learn in (detector.partial_fit, detector.fit):
        with pytest.raises(IsinglassError, match=r"no longer finite in epoch \d+.*lower learning"):
            learn(TABLE)
        assert detector._weights.flat.tobytes() == before
        assert detector.loss_curve_ == curve


def test_fitted_attributes_hold_no_records_and_show_no_bounds():
    detector = small().fit(TABLE)
    public = {k for k in vars(detector) if k.endswith("_")}
    assert public == {
        "loss_curve_", "n_epochs_", "n_features_in_", "n_hidden_", "threshold_", "validation_curve_"
    }  # fmt: skip
    carried = pickle.dumps(detector)
    scaled = (TABLE - detector._scaling.low) / (detector._scaling.high - detector._scaling.low)
    for value in np.concatenate([TABLE.ravel(), scaled.ravel()]):
        assert value.tobytes() not in carried
    for shown in (repr(detector), repr(detector._scaling), repr(detector._weights)):
        assert "array" not in shown
    again = pickle.loads(carried)
    np.testing.assert_array_equal(again.anomaly_score(TABLE), detector.anomaly_score(TABLE))
    assert copy.deepcopy(detector).threshold_ == detector.threshold_
    # Both go on alike.
    one, two = again.partial_fit(TABLE), detector.partial_fit(TABLE)
    assert one._weights.flat.tobytes() == two._weights.flat.tobytes()


# In parts.


def test_parts_are_about_as_good_as_the_whole():
    train, test, truth = with_anomalies(factor_data(8, 2, seed=0), seed=1)
    whole = ig.Autoencoder(random_state=0).fit(train)
    parts = ig.Autoencoder(random_state=0)
    for part in np.array_split(train, 5):
        parts.partial_fit(part)
    for detector in (whole, parts):
        assert roc_auc_score(truth, detector.anomaly_score(test)) >= 0.99
    assert 0.4 < parts.threshold_ / whole.threshold_ < 2.5


def test_parts_that_differ_are_learned_in_rounds_and_forgotten_otherwise():
    rng = np.random.default_rng(0)
    owners = [rng.random((300, 2)) @ rng.normal(size=(2, 8)) + 0.5 * i for i in range(3)]
    table = np.vstack(owners) + 0.02 * rng.normal(size=(900, 8))
    low, high = table.min(axis=0), table.max(axis=0)
    asked = np.vstack([table, rng.uniform(low, high, size=(200, 8))])
    aucs = {}
    for rounds, epochs in ((1, 100), (100, 1)):
        detector = ig.Autoencoder(bounds=(low, high), random_state=0)
        for _ in range(rounds):
            for part in np.split(table, 3):
                detector.partial_fit(part, epochs=epochs)
        aucs[rounds] = roc_auc_score(np.arange(1100) >= 900, detector.anomaly_score(asked))
    assert aucs[1] < 0.9
    assert aucs[100] > 0.97
    assert (detector.predict(table) == -1).mean() < 0.05


def test_the_first_part_settles_bounds_and_width_later_ones_train_on():
    first, second = np.split(TABLE, 2)
    detector = small().partial_fit(first)
    alone = small().fit(first)
    assert detector._weights.flat.tobytes() == alone._weights.flat.tobytes()
    scaling, weights, errors = detector._scaling, detector._weights, detector._errors
    detector.partial_fit(second * 10, epochs=7)
    assert detector._scaling is scaling
    assert detector.n_epochs_ == len(detector.loss_curve_) == 27
    assert detector._weights.flat.tobytes() != weights.flat.tobytes()
    cut = np.clip(second * 10, *_one_span_beyond(scaling))
    expected = errors.faded(0.9).joined(detector.anomaly_score(cut)[np.newaxis])
    deviation = np.sqrt(expected.squares[0] / expected.count)
    assert detector.threshold_ == pytest.approx(expected.mean[0] + 3 * deviation, rel=1e-9)
    with pytest.raises(ValueError, match=r"5 features.*expecting 6"):
        detector.partial_fit(second[:, :5])
    detector.partial_fit(second[:1])  # one record is a part too
    with pytest.raises(ValueError, match="epochs must be a whole number >= 0"):
        detector.partial_fit(second, epochs=-1)


def test_a_part_that_teaches_nothing_undoes_nothing():
    detector = ig.Autoencoder(random_state=0).fit(TABLE)
    before = detector._weights.flat.tobytes()
    detector.set_params(learning_rate=30.0, patience=1)  # finite, but a step in the dark
    n_epochs = detector.n_epochs_
    detector.partial_fit(TABLE, epochs=1)
    assert detector.n_epochs_ == n_epochs + 1
    assert detector.validation_curve_[-1] > 100 * min(detector.validation_curve_)
    assert detector._weights.flat.tobytes() == before


def test_fit_starts_over():
    detector = small().fit(TABLE)
    once = detector._weights.flat.tobytes(), detector.threshold_, detector.n_epochs_
    detector.partial_fit(TABLE).fit(TABLE)
    assert (detector._weights.flat.tobytes(), detector.threshold_, detector.n_epochs_) == once


# Detection.


@pytest.mark.parametrize(("n_features", "n_factors"), [(8, 2), (40, 5)])
@both
def test_uniform_anomalies_stand_out_of_factor_data(n_features, n_factors, output):
    train, test, truth = with_anomalies(factor_data(n_features, n_factors, seed=3), seed=4)
    detector = ig.Autoencoder(output=output, random_state=0).fit(train)
    assert roc_auc_score(truth, detector.anomaly_score(test)) >= 0.99
    assert detector.loss_curve_[-1] < 0.2 * detector.loss_curve_[0]


def multiparty_auc(n_features, n_factors, alpha, seed):
    """Participants of 30 records each perturb their own; end users use the public matrix."""
    train, test, truth = with_anomalies(factor_data(n_features, n_factors, seed), seed)
    matrix = ig.public_matrix(n_features, preset="paper", study="test", seed=f"{seed:02x}")
    veils = [
        ig.MultipartyPerturbation(matrix, alpha=alpha, bounds="scaled", random_state=97 * seed + i)
        for i in range(0, len(train), 30)
    ]
    starts = range(0, len(train), 30)
    pooled = np.vstack(
        [v.fit_transform(train[i : i + 30]) for v, i in zip(veils, starts, strict=True)]
    )
    detector = ig.Autoencoder(random_state=seed).fit(pooled)
    return roc_auc_score(truth, detector.anomaly_score(veils[0].public_transform(test)))


@pytest.mark.filterwarnings("ignore::isinglass.errors.PrivacyWarning")
def test_more_noise_in_the_matrices_costs_detection_on_few_columns():
    little, much = (
        np.mean([multiparty_auc(8, 2, alpha, seed) for seed in range(4)]) for alpha in (0.1, 0.4)
    )
    assert little >= 0.97
    assert much < little - 0.01
    assert multiparty_auc(40, 5, 0.4, 0) >= 0.99


@pytest.mark.parametrize(
    ("name", "least"),
    [("abalone", 0.99), ("shuttle", 0.99), ("gas_drift", 0.99), ("har_smartphone", 0.99)],
)
def test_uniform_anomalies_stand_out_of_real_tables(real_data, name, least):
    made = ig.datasets.load(name).X[:1000]
    span = np.ptp(made, axis=0)
    scaled = ((made - made.min(axis=0)) / np.where(span > 0, span, 1)).astype(np.float32)
    train, test, truth = with_anomalies(scaled, seed=2)
    epochs = 60 if made.shape[1] > 200 else 300
    train, test = train.astype(np.float32), test.astype(np.float32)
    detector = ig.Autoencoder(max_epochs=epochs, random_state=0).fit(train)
    assert roc_auc_score(truth, detector.anomaly_score(test)) >= least


# The exported file.


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    found = {}
    for output in ("linear", "logistic"):
        table = np.column_stack([TABLE, np.full(len(TABLE), 2.5)]).astype(np.float32)
        detector = small(output=output, max_epochs=60).fit(table)
        path = tmp_path_factory.mktemp("model") / f"{output}.onnx"
        detector.export(path)
        found[output] = table, detector, path
    return found


@both
def test_the_file_scores_as_torch_does(exported, output):
    table, detector, path = exported[output]
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(6)
    inside = np.repeat(table, 4, axis=0)
    outside = table + rng.normal(scale=3, size=table.shape).astype(np.float32)
    asked = np.vstack([inside, outside, 20 * table]).astype(np.float32)
    assert len(asked) >= 1000
    score, rebuilt, flags = session.run(
        ["score", "reconstruction", "is_outlier"], {"record": asked}
    )
    expected = detector.anomaly_score(asked)
    # Far outside scores run into the hundreds, where 1e-5 is meant of their size.
    assert (np.abs(score - expected) / np.maximum(1, expected)).max() <= 1e-5
    np.testing.assert_array_equal(np.where(flags, -1, 1), detector.predict(asked))
    assert 0 < flags.mean() < 1
    # The reconstruction is in the record's own units: its scaled error is the score.
    low, high = detector._scaling.low, detector._scaling.high
    error = (asked - rebuilt.astype(np.float64)) / np.where(high > low, high - low, 1)
    np.testing.assert_allclose((error**2).mean(axis=1), expected, rtol=1e-3, atol=1e-5)
    (alone,) = session.run(["score"], {"record": asked[:1]})
    assert alone.shape == (1,)


def test_the_file_is_sound_and_says_what_it_is(exported):
    _, detector, path = exported["linear"]
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    facts = {p.key: p.value for p in model.metadata_props}
    assert float(facts["threshold"]) == detector.threshold_
    assert facts["version"] == ig.__version__
    assert "not excluded" in facts["promise"]
    assert [i.name for i in model.graph.input] == ["record"]
    assert {o.name for o in model.graph.output} == {"score", "reconstruction", "is_outlier"}


@both
def test_the_file_holds_no_records_value(exported, output):
    table, detector, path = exported[output]
    data = path.read_bytes()
    rest = data
    for constant in onnx.load(path).graph.initializer:
        if constant.name in {"W", "V", "a", "b"}:
            rest = rest.replace(constant.raw_data, b"")
    assert len(rest) < len(data)
    scaling = detector._scaling
    span = np.where(scaling.high > scaling.low, scaling.high - scaling.low, 1)
    scaled = (table - scaling.low) / span
    for values in (table[:, :6], scaled[:, :6]):  # the last column is one constant
        for value in values.ravel():
            assert np.float64(value).tobytes() not in data
            assert np.float32(value).tobytes() not in rest
        # Among weights two at a time: one alone equals one by chance, 1 time in 500.
        single = values.astype(np.float32)
        for pairs in (single.reshape(-1, 2), single.T.reshape(-1, 2)):
            assert not any(pair.tobytes() in data for pair in pairs)
    # The search finds what is there.
    assert detector._weights.parts()[0].astype(np.float32).tobytes() in data


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    detector = small(max_epochs=1).fit(TABLE)
    target = tmp_path / "model.onnx"
    target.write_bytes(b"before")

    def fail(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr("os.fsync", fail)
        with pytest.raises(ReleaseError, match="No space left"):
            detector.export(target)
    assert target.read_bytes() == b"before"
    assert [p.name for p in tmp_path.iterdir()] == ["model.onnx"]
    with pytest.raises(ReleaseError, match="does not exist"):
        detector.export(tmp_path / "nowhere" / "model.onnx")
    detector.export(target)
    first = target.read_bytes()
    detector.export(target)
    assert target.read_bytes() == first


# What a person is told.


def test_a_function_is_told_epochs_and_loss():
    calls = []
    detector = small(progress=lambda *told: calls.append(told)).fit(TABLE)
    assert [(done, total) for _, done, total in calls] == [(i, 20) for i in range(1, 21)]
    for epoch, (stage, _, _) in enumerate(calls):
        loss, held = detector.loss_curve_[epoch], detector.validation_curve_[epoch]
        assert stage == f"epoch {epoch + 1}, loss {loss:.3g}, held back {held:.3g}"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("stream", [Terminal, io.StringIO])
def test_a_bar_with_epochs_and_loss_shows_on_a_terminal_only(monkeypatch, stream):
    shown = stream()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(sys, "stderr", shown)
    small(progress=True).fit(TABLE)
    if stream is Terminal:
        assert re.search(r"epoch 20, loss 0\.\d+", shown.getvalue())
    else:
        assert shown.getvalue() == ""


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("n_hidden", 0, "n_hidden must be a whole number >= 1, got 0"),
        ("n_hidden", 2.5, "n_hidden must be a whole number"),
        ("max_epochs", -1, "max_epochs must be a whole number >= 0"),
        ("batch_size", 0, "batch_size must be a whole number >= 1"),
        ("patience", 0, "patience must be a whole number >= 1"),
        ("learning_rate", 0.0, "learning_rate must be a number above 0, got 0.0"),
        ("learning_rate", float("nan"), "learning_rate must be a number above 0"),
        ("learning_rate", float("inf"), "learning_rate must be finite"),
        ("momentum", 1.0, "momentum must be a number >= 0 and < 1, got 1.0"),
        ("validation_fraction", 1.0, "validation_fraction must be a number >= 0 and < 1"),
        ("validation_fraction", True, "validation_fraction must be a number"),
        ("tolerance", -0.1, "tolerance must be a number >= 0 and < 1"),
        ("output", "tanh", "output must be 'linear' or 'logistic', got 'tanh'"),
        ("device", "abacus", "device must be None, 'cpu', 'cuda'"),
        ("device", "meta", "device must be None, 'cpu', 'cuda'"),
    ],
)
def test_bad_parameters_are_told_by_name_rule_and_value(name, value, rule):
    detector = small(**{name: value})
    with pytest.raises(ValueError, match=re.escape(rule)):
        detector.fit(TABLE)
    assert not hasattr(detector, "threshold_")


def test_bad_tables_are_told_and_never_quoted():
    detector = small(max_epochs=1).fit(TABLE)
    hole = TABLE[:5].copy()
    hole[2, 3] = np.nan
    for use in (detector.fit, detector.partial_fit, detector.anomaly_score, detector.predict):
        with pytest.raises(ValueError, match="contains NaN"):
            use(hole)
    detector.fit(TABLE)
    for use in (detector.anomaly_score, detector.partial_fit):
        with pytest.raises(ValueError, match=r"4 features.*expecting 6"):
            use(TABLE[:, :4])
    with pytest.raises(ValueError, match="numbers only") as told:
        detector.anomaly_score(np.array([["1", "2", "3", "4", "5", "Smith"]], dtype=object))
    assert "Smith" not in str(told.value)
    with pytest.raises(ValueError, match="minimum of 2"):
        small().fit(TABLE[:1])


# Another device.


@pytest.mark.skipif(torch.cuda.is_available(), reason="a CUDA device is here")
def test_a_missing_graphics_card_is_one_sentence():
    with pytest.raises(IsinglassError, match="torch sees 0 such devices here; use device='cpu'"):
        small(device="cuda").fit(TABLE)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no CUDA device")
def test_a_graphics_card_learns_the_same(tmp_path):
    table = TABLE.astype(np.float64)
    cpu, card, again = (small(device=d).fit(table) for d in ("cpu", "cuda", "cuda"))
    np.testing.assert_allclose(card._weights.flat, cpu._weights.flat, atol=1e-8)
    np.testing.assert_allclose(card.anomaly_score(table), cpu.anomaly_score(table), rtol=1e-7)
    assert card._weights.flat.tobytes() == again._weights.flat.tobytes()
    single = [clone(d).fit(table.astype(np.float32)) for d in (cpu, card)]
    assert single[0].threshold_ == pytest.approx(single[1].threshold_, rel=1e-3)
    # What was learned there can be used here.
    np.testing.assert_allclose(
        card.set_params(device=None).anomaly_score(table), cpu.anomaly_score(table), rtol=1e-7
    )
