"""A gate opens for files of which it is known how they were made, under a key drawn in secret."""

from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import isinglass as ig
from isinglass.auditing.files.audit_files import audit_files
from isinglass.auditing.files.key_match import KeyFacts
from isinglass.auditing.files.origin import KEPT, NOISE, ORDER, ORIGIN, SECRET, kept_line
from isinglass.auditing.policy import Policy
from isinglass.auditing.report.sentences import sentences
from isinglass.errors import AuditError
from isinglass.perturb.key import read_key

RNG = np.random.default_rng(918273)
X = RNG.gamma(2.0, size=(240, 3)) * [1, 5, 20]
LOOSE = Policy.parse("[attacks]\nmaximum_gain = 1.0\n")


@pytest.fixture
def made(tmp_path, monkeypatch):
    monkeypatch.setenv("ISINGLASS_HOME", str(tmp_path / "home"))
    pd.DataFrame(X, columns=list("abc")).to_csv(tmp_path / "t.csv", index=False)

    def make(method, name="r.parquet", shuffle=False, **parameters):
        veil = method(**parameters)
        ig.write_release(tmp_path / "t.csv", tmp_path / name, veil, again=True, shuffle=shuffle)
        return tmp_path / "t.csv", tmp_path / name

    return make


def lines(report):
    return {line.demand: line.met for line in report.findings.policy}


def test_a_file_that_nobody_explains_does_not_pass(tmp_path, given):
    for name, values in (("t", X), ("r", RNG.gamma(2.0, size=X.shape))):
        pd.DataFrame(values, columns=list("abc")).to_csv(tmp_path / f"{name}.csv", index=False)
    files = tmp_path / "t.csv", tmp_path / "r.csv"
    assert lines(audit_files(*files, policy=LOOSE, random_state=0))[ORIGIN] is False
    anyhow = Policy.parse('[attacks]\nmaximum_gain = 1.0\n[release]\norigin = "any"\n')
    assert ORIGIN not in lines(audit_files(*files, policy=anyhow, random_state=0))


def test_a_key_from_a_common_seed_is_guessed(made):
    with pytest.warns(ig.PrivacyWarning):
        files = made(ig.AdditiveNoise, scale=6.0, random_state=42)
    report = audit_files(*files, policy=LOOSE, random_state=0)
    assert lines(report)[SECRET] is False
    outsider = next(a for a in report.findings.attackers if a.name == "outsider")
    assert outsider.r2 > 0.99
    assert any("guessed" in note for note in sentences(report.findings.notes))


@pytest.mark.parametrize("method", [ig.AdditiveNoise, ig.Condensation, ig.Distortion])
def test_the_key_shows_how_a_release_was_made(made, given, method):
    table, release = made(method)
    assert lines(audit_files(table, release, policy=LOOSE, random_state=0))[ORIGIN] is False
    key = ig.load_key(release.with_suffix(".key"))
    found = lines(audit_files(table, release, perturbation=key, policy=LOOSE, random_state=0))
    assert ORIGIN not in found  # no line where there is nothing to say
    assert SECRET not in found


@pytest.mark.parametrize("method", [ig.AdditiveNoise, ig.Condensation])
def test_a_release_that_its_key_makes_only_in_part_is_refused(made, given, method):
    table, release = made(method)
    key = ig.load_key(release.with_suffix(".key"))
    changed = pq.read_table(release)
    column = changed["b"].to_numpy().copy()
    last = column[-1]
    column[-1] += 40.0
    facts = pq.read_metadata(release).metadata
    changed = changed.set_column(1, "b", pa.array(column)).replace_schema_metadata(facts)
    pq.write_table(changed, release)
    with pytest.raises(AuditError, match="key of another release"):
        audit_files(table, release, perturbation=key, policy=LOOSE, random_state=0)
    # A file that says nothing may be any file; its key shows it all the same.
    plain = release.with_suffix(".csv")
    for value, met in ((column[-1], False), (last, True)):
        column[-1] = value
        pd.DataFrame(changed.to_pandas()).assign(b=column).to_csv(plain, index=False)
        report = audit_files(table, plain, perturbation=key, policy=LOOSE, random_state=0)
        assert (ORIGIN not in lines(report)) is met


@pytest.mark.parametrize("bits", [1, 3, 12, 26])
def test_last_digits_that_the_key_does_not_make_are_not_let_through(made, given, bits):
    table, release = made(ig.AdditiveNoise)
    key = ig.load_key(release.with_suffix(".key"))
    changed = pq.read_table(release)
    cells = changed["b"].to_numpy().copy()
    low, size = X[:, 1].min(), np.ptp(X[:, 1])
    hidden = np.round((X[:, 1] - low) / size * (2**bits - 1)).astype(np.uint64)
    cells = ((cells.view(np.uint64) >> np.uint64(bits) << np.uint64(bits)) | hidden).view(float)
    facts = pq.read_metadata(release).metadata
    changed = changed.set_column(1, "b", pa.array(cells)).replace_schema_metadata(facts)
    pq.write_table(changed, release)
    found = lines(audit_files(table, release, perturbation=key, policy=LOOSE, random_state=0))
    assert found[ORIGIN] is False


@pytest.mark.parametrize(
    ("method", "shuffle", "met"),
    [
        (ig.AdditiveNoise, False, False),
        (ig.AdditiveNoise, True, True),
        (ig.Condensation, False, True),
        (ig.Condensation, True, True),
    ],
)
def test_rows_in_the_order_of_the_table_pass_no_policy_that_does_not_allow_them(
    made, given, method, shuffle, met
):
    table, release = made(method, shuffle=shuffle)
    key = ig.load_key(release.with_suffix(".key"))
    facts = KeyFacts(shuffle=read_key(release.with_suffix(".key")).arrays.get("shuffle"))
    for more, passes in (("", met), ('[release]\norder = "any"\n', True)):
        policy = Policy.parse("[attacks]\nmaximum_gain = 1.0\n" + more)
        found = lines(
            audit_files(table, release, perturbation=key, key=facts, policy=policy, random_state=0)
        )
        assert (ORDER not in found) is passes
        assert ORIGIN not in found


CITIES = np.array([f"city {i}" for i in range(12)])


@pytest.fixture
def with_city(tmp_path, monkeypatch):
    """A table with a city, released under noise with the city beside it; facts for an audit."""
    monkeypatch.setenv("ISINGLASS_HOME", str(tmp_path / "home"))
    frame = pd.DataFrame(X, columns=list("abc")).assign(city=CITIES[np.arange(len(X)) % 12])
    frame.to_parquet(tmp_path / "t.parquet")
    ig.write_release(
        tmp_path / "t.parquet",
        tmp_path / "r.parquet",
        ig.AdditiveNoise(),
        keep=["city"],
        shuffle=True,
    )
    key = tmp_path / "r.key"
    facts = KeyFacts(shuffle=read_key(key).arrays["shuffle"])

    def found(policy=LOOSE):
        return lines(
            audit_files(
                tmp_path / "t.parquet", tmp_path / "r.parquet", perturbation=ig.load_key(key),
                key=facts, policy=policy, random_state=0,
            )
        )  # fmt: skip

    return tmp_path / "r.parquet", found


@pytest.mark.parametrize("changed", ["nothing", "an added column", "a kept cell", "a kept null"])
def test_a_key_does_not_vouch_for_columns_that_it_does_not_make(with_city, given, changed):
    release, found = with_city
    table = pq.read_table(release)
    facts, cities = pq.read_metadata(release).metadata, table["city"].to_pylist()
    if changed == "an added column":
        table = table.append_column("zz", pa.array(RNG.integers(0, 9, len(X)).astype(float)))
    elif changed != "nothing":
        cities[7] = (
            None if changed == "a kept null" else CITIES[11 if cities[7] == CITIES[0] else 0]
        )
        table = table.set_column(table.schema.names.index("city"), "city", pa.array(cities))
    pq.write_table(table.replace_schema_metadata(facts), release)
    assert (ORIGIN not in found()) is (changed == "nothing")


def test_kept_columns_of_many_values_pass_no_policy_that_does_not_allow_them(with_city, given):
    _, found = with_city
    assert found()[KEPT] is False
    allowed = Policy.parse('[attacks]\nmaximum_gain = 1.0\n[release]\nkept = "any"\n')
    assert KEPT not in found(allowed)


@pytest.mark.parametrize(
    ("combinations", "rows", "columns", "noise", "met"),
    [
        (1, 10, 9, 99.0, True),  # all rows share it
        (2, 800, 4, 0.0, True),  # the root of 4 * 2 / 800 is .1
        (2, 799, 4, 0.0, False),
        (5, 1500, 20, 25.0, False),
        (2, 3_200, 4, 1.0, True),
        (1000, 1000, 1, 0.0, False),
    ],
)
def test_what_is_left_unread_of_kept_values_decides(combinations, rows, columns, noise, met):
    assert kept_line(combinations, rows, columns, noise).met is met


@pytest.mark.parametrize(
    ("method", "more", "met"),
    [
        (ig.Distortion, "", False),
        (ig.Distortion, '[release]\nnoise = "any"\n', True),
        (ig.AdditiveNoise, "", True),
        (ig.MultiplicativeNoise, "", False),
        (ig.MultiplicativeNoise, '[release]\nnoise = "any"\n', True),
        (partial(ig.AdditiveNoise, scale=[2, 0, 2]), "", False),
        (ig.Condensation, "", False),
    ],
)
def test_limits_on_attackers_are_met_by_added_noise_alone(made, given, method, more, met):
    table, release = made(method)
    key = ig.load_key(release.with_suffix(".key"))
    for limit in (
        '[attacks]\nmaximum_gain = 1.0\nattacker = "outsider"\n',
        "[attackers]\noutsider = 1\n",
    ):
        policy = Policy.parse(limit + more)
        found = lines(audit_files(table, release, perturbation=key, policy=policy, random_state=0))
        assert (NOISE not in found) is met
    found = lines(audit_files(table, release, perturbation=key, policy=LOOSE, random_state=0))
    assert (NOISE not in found) is (method is ig.AdditiveNoise)


def test_whoever_takes_any_origin_takes_any_order_and_kept_columns():
    anyhow = '[attacks]\nmaximum_gain = 1.0\n[release]\norigin = "any"\n'
    assert Policy.parse(anyhow).order == "any"
    assert Policy.parse(anyhow).kept == Policy.parse(anyhow).noise == "any"
    assert LOOSE.kept == "few"
    assert Policy.parse(anyhow + 'order = "secret"\n').order == "secret"
    assert LOOSE.order == "secret"
    with pytest.raises(AuditError, match="order must be among secret, any"):
        Policy.parse('[attacks]\nmaximum_gain = 1.0\n[release]\norder = "sorted"\n')


def test_a_policy_that_misspells_the_origin_is_refused():
    with pytest.raises(AuditError, match="origin must be among known, any"):
        Policy.parse('[attacks]\nmaximum_gain = 1.0\n[release]\norigin = "who knows"\n')
    with pytest.raises(AuditError, match="demands nothing"):
        Policy.parse('[release]\norigin = "any"\n')


@pytest.mark.parametrize("k", [2, 10, 60])
def test_groups_of_a_strangers_table_are_not_vouched_for(k):
    rng = np.random.default_rng(4)
    mixed = rng.normal(size=(480, 6)) @ rng.normal(size=(6, 6))
    mixed = np.column_stack([mixed, np.full(480, 3.0)])
    table, stranger = mixed[:240], mixed[240:]
    veil = ig.Condensation(k=k)
    veil.fit_transform(table)
    assert veil.drawn_from(table)
    assert veil.drawn_from(table[::-1])  # groups have no order
    assert not veil.drawn_from(stranger)
    assert not veil.drawn_from(table[1:])
    assert not veil.drawn_from(np.vstack([table[1:], stranger[:1]]))
    # The same columns, each in another order: only how they go together differs.
    assert not veil.drawn_from(np.column_stack([rng.permutation(column) for column in table.T]))
    low, high = table.min(axis=0), table.max(axis=0)
    alike = low + (stranger - stranger.min(axis=0)) * (
        (high - low) / np.where(high > low, np.ptp(stranger, axis=0), 1.0)
    )
    assert not veil.drawn_from(alike)
