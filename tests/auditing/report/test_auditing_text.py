"""Numbers of a release that stand in text, times, lists, or columns beside the table's."""

from __future__ import annotations

import base64

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from isinglass.auditing.files.audit_files import audit_files
from isinglass.auditing.files.read_numbers import read_numbers
from isinglass.auditing.findings import RECOVERED, RESISTED
from isinglass.errors import AuditError

RNG = np.random.default_rng(3)
N, NAMES = 200, list("abcd")
TABLE = RNG.normal(size=(N, 4)) @ (np.eye(4) + 0.3 * RNG.normal(size=(4, 4))) * [1, 3, 10, 2] + 5
NOISE = RNG.normal(size=(N, 4))
START = pd.Timestamp("2020-01-01")


def audited(frame, tmp_path, table=None, kind="csv", **options):
    table = pd.DataFrame(TABLE, columns=NAMES) if table is None else table
    table.to_csv(tmp_path / "t.csv", index=False)
    if kind == "csv":
        frame.to_csv(tmp_path / "r.csv", index=False)
    else:
        frame.to_parquet(tmp_path / "r.parquet", index=False)
    report = audit_files(tmp_path / "t.csv", tmp_path / f"r.{kind}", random_state=1, **options)
    return report.findings


def outsider(found):
    return next(a for a in found.attackers if a.name == "outsider")


def tagged(values, form):
    return pd.DataFrame({f"t{i}": [form % v for v in column] for i, column in enumerate(values.T)})


def noise(n_columns=4):
    return pd.DataFrame(NOISE[:, :n_columns], columns=[f"z{i}" for i in range(n_columns)])


def times(values, form=None):
    days = pd.DataFrame(values).apply(lambda c: START + pd.to_timedelta(c * 100, unit="D"))
    days.columns = [f"d{i}" for i in range(values.shape[1])]
    return days if form is None else days.apply(lambda c: c.dt.strftime(form))


def blob(values):
    return pd.DataFrame({"blob": [";".join(f"{v:.5f}" for v in row) for row in values]})


LEAKS = {
    "tags beside as many columns": pd.concat([noise(), tagged(TABLE, "USD %.4f")], axis=1),
    "tags alone": tagged(TABLE, "about %.4f meters"),
    "one text for a record": pd.concat([noise(1), blob(TABLE)], axis=1),
    "times": pd.concat([noise(1), times(TABLE)], axis=1),
    "dates": times(TABLE, "%d.%m.%Y"),
    "decimal commas": tagged(TABLE, "%.4f").map(lambda text: f"EUR {text.replace('.', ',')}"),
}


@pytest.mark.parametrize("name", LEAKS)
def test_numbers_in_text_and_times_are_numbers(name, tmp_path):
    found = audited(LEAKS[name], tmp_path)
    assert outsider(found).verdict == RECOVERED
    assert outsider(found).r2 > 0.95


def test_a_long_format_of_texts_is_the_table(tmp_path):
    row, var = np.divmod(np.arange(4 * N), 4)
    frame = pd.DataFrame({"row": row, "var": [NAMES[j] for j in var]})
    frame["value"] = [f"USD {v:.4f}" for v in TABLE[row, var]]
    assert outsider(audited(frame, tmp_path)).r2 > 0.95


def test_times_of_a_parquet_file_are_numbers(tmp_path):
    found = audited(pd.concat([noise(), times(TABLE)], axis=1), tmp_path, kind="parquet")
    assert outsider(found).r2 > 0.95


def test_a_label_may_hold_more_than_labels(tmp_path):
    table = pd.DataFrame(TABLE, columns=NAMES).assign(y=np.arange(N) % 2)
    frame = pd.concat([noise(), pd.DataFrame({"y": TABLE[:, 0]})], axis=1)
    found = audited(frame, tmp_path, table=table, label="y")
    worst = max(found.attacks, key=lambda a: a.worst_gain)
    assert worst.worst_gain > 0.9
    assert worst.worst_column == "a"


def test_a_text_of_the_table_may_be_replaced_by_others(tmp_path):
    table = pd.DataFrame(TABLE, columns=NAMES).assign(city=[f"city {i % 7}" for i in range(N)])
    frame = noise().assign(city=blob(TABLE)["blob"])
    assert outsider(audited(frame, tmp_path, table=table)).r2 > 0.95


def test_a_column_that_says_nothing_hides_none_of_the_others(tmp_path):
    noisy = TABLE + 0.7 * TABLE.std(axis=0) * NOISE
    frame = pd.DataFrame(noisy, columns=NAMES)
    alone = audited(frame, tmp_path)
    beside = audited(frame.assign(extra=np.random.default_rng(5).random(N)), tmp_path)
    assert outsider(beside).r2 > outsider(alone).r2 - 0.05
    assert outsider(alone).r2 > 0.5


def test_texts_and_times_that_say_nothing_resist(tmp_path):
    rng = np.random.default_rng(9)
    fresh = rng.multivariate_normal(TABLE.mean(axis=0), np.cov(TABLE.T), size=N)
    frame = pd.concat([noise(), tagged(fresh, "USD %.3f"), times(fresh)], axis=1)
    frame["name"] = [f"person {i:05d}" for i in rng.permutation(N)]
    assert audited(frame, tmp_path).verdict == RESISTED


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["a 1.5 b -2", "+3e2;4", "x"], [[1.5, -2], [300, 4], [150.75, 1]]),
        (["2020-01-02", "2020-01-03", "2020-01-04"], [[0], [86400e9], [2 * 86400e9]]),
        (["10-20", "30-40", "50-60"], [[10, 20], [30, 40], [50, 60]]),
        (["one", "two", "three"], None),
        (["v1", "v1", "v1"], None),
    ],
)
def test_numbers_of_a_text(texts, numbers):
    found = read_numbers(pa.chunked_array([texts]))
    if numbers is None:
        assert found is None
    else:
        shift = found[0, 0] if numbers[0][0] == 0 else 0
        np.testing.assert_allclose(found - shift, numbers)


@pytest.mark.parametrize(
    "write", [lambda row: row.tobytes().hex(), lambda row: base64.b64encode(row.tobytes()).decode()]
)
def test_text_that_could_hold_a_record_in_code_is_refused(tmp_path, write):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 4))
    pd.DataFrame(X, columns=list("abcd")).to_csv(tmp_path / "t.csv", index=False)
    out = pd.DataFrame(rng.normal(size=(100, 4)), columns=list("abcd"))
    out.assign(note=[write(row) for row in X]).to_csv(tmp_path / "r.csv", index=False)
    with pytest.raises(AuditError, match="column note holds values that an audit cannot look at"):
        audit_files(tmp_path / "t.csv", tmp_path / "r.csv", random_state=0)
    # Short marks, and a few long ones that many rows share, hold nothing.
    kinds = rng.choice(["arrived late and left early, without a word", "on time"], 100)
    out.assign(note=kinds, mark=[f"r{i}" for i in range(100)]).to_csv(
        tmp_path / "r.csv", index=False
    )
    assert audit_files(tmp_path / "t.csv", tmp_path / "r.csv", random_state=0).verdict


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["1.2k", "3.4M", "7"], [[1200], [3.4e6], [7]]),
        (["12A", "3K", "7M"], [[12], [3], [7]]),
        (["$1,234.50", "$12,000.00", "$3.00"], [[1234.5], [12000], [3]]),
        (["Jan 12", "Feb 3", "Dec 31"], [[1, 12], [2, 3], [12, 31]]),
        (["1e400", "2", "3"], [[2.5], [2], [3]]),
        (["5e200", "2", "3"], [[2.5], [2], [3]]),
    ],
)
def test_words_for_powers_and_months_are_read(texts, numbers):
    np.testing.assert_allclose(read_numbers(pa.chunked_array([texts])), numbers)
