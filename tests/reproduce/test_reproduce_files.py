"""What a reproduction writes, and where its data come from."""

import csv

import numpy as np
import pytest

from isinglass.errors import TableError
from isinglass.reproduce.data import MissingData, Sets
from isinglass.reproduce.draw import picture, png
from isinglass.reproduce.fetch import ELSEWHERE, OPENML, fetch
from isinglass.reproduce.result import Claim, Figure, Missing, Number, Reproduction
from isinglass.reproduce.run import run
from isinglass.reproduce.write import explore, summary, write


def found() -> Reproduction:
    rows = tuple({"slope": x, "rate": 1 / x, "kind": "a|b"} for x in (1, 2, 4))
    return Reproduction(
        "rotation",
        "Turning",
        "Somebody, 2005.",
        full=False,
        seed=3,
        numbers=(Number("Table 1", "Iris", 0.43, 0.42, 0.4, 0.44), Number("T", "x", None, None)),
        claims=(Claim("page 2", "It | holds.", "does not hold", "0.1 of 1"),),
        figures=(
            Figure("figure-1", "Rates", "They fall.", rows, picture("line", "slope", "rate")),
        ),
        missing=(Missing("Opportunity", "data missing"),),
    )


def test_a_page_has_every_number_claim_picture_and_gap(tmp_path):
    page = write(found(), tmp_path).read_text(encoding="utf-8")
    assert "| Table 1 | Iris | 0.43 | 0.42 | 0.4 to 0.44 |  |" in page
    assert "| T | x | – | – |  |  |" in page
    assert "| page 2 | It \\| holds. | **does not hold** | 0.1 of 1 |" in page
    assert "`isinglass reproduce rotation --quick --seed 3`" in page
    assert "- **Opportunity**: data missing" in page
    assert "(rotation/figure-1.png)" in page
    assert (tmp_path / "rotation/figure-1.png").read_bytes().startswith(b"\x89PNG")
    with open(tmp_path / "rotation/figure-1.csv", newline="", encoding="utf-8") as file:
        assert [float(r["rate"]) for r in csv.DictReader(file)] == [1.0, 0.5, 0.25]
    with open(tmp_path / "rotation/numbers.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert (rows[0]["printed"], rows[0]["ours"], rows[1]["ours"]) == ("0.43", "0.42", "")
    assert "| [rotation](rotation.md) | It \\| holds. | does not hold | 0.1 of 1 |" in summary(
        [found()]
    )


def test_the_page_to_explore_needs_no_network_and_no_word_ends_its_script():
    text = explore([found()])
    assert "figure0" in text
    assert "<script src" not in text
    assert text.count("</script>") == 1


@pytest.mark.parametrize("kind", ["line", "point", "bar"])
def test_pictures_can_be_drawn_in_panels_with_bands_and_logarithms(kind):
    rows = [{"x": 2**i, "y": i + 1, "low": i + 0.5, "high": i + 2, "who": w, "p": p}
            for i in range(4) for w in "ab" for p in "cd"]  # fmt: skip
    x = "x:N" if kind == "bar" else "x"
    spec = picture(kind, x, "y", color="who", panel="p", band=("low", "high"), log="y")
    assert png(spec, rows).startswith(b"\x89PNG")


def test_a_verdict_is_one_of_five():
    with pytest.raises(ValueError, match="verdict must be one of"):
        Claim("here", "so", "maybe", "")


def test_an_unknown_paper_is_refused():
    with pytest.raises(ValueError, match="paper must be one of"):
        run("folding")


def test_a_missing_set_is_said_to_be_missing(tmp_path, monkeypatch):
    monkeypatch.delenv("ISINGLASS_DATA", raising=False)
    for sets in (Sets(), Sets(tmp_path)):
        assert not sets.has("thyroid")
        with pytest.raises(MissingData, match="thyroid is missing"):
            sets.load("thyroid")
        assert sets.load("iris").X.shape == (150, 4)  # shipped with scikit-learn
        assert sets.load("wine").X.shape == (178, 13)


def local(**asked):
    """What OpenML would send for a small set: categories coded, missing values NaN."""
    assert asked == {
        "name": "hepatitis",
        "version": 1,
        "as_frame": False,
        "parser": "liac-arff",
    }
    X = np.array([[1.0, 5.0], [np.nan, 7.0], [3.0, 6.0], [4.0, np.nan]])
    target = np.array(["live", "die", "live", "live"])
    return {"data": X, "target": target, "feature_names": ["age", "bilirubin"]}


def test_a_fetched_set_is_a_file_like_the_others(tmp_path):
    path = fetch("hepatitis", tmp_path / "new", get=local)
    data = Sets(path.parent).load("hepatitis")
    assert data.column_names == ("age", "bilirubin")
    np.testing.assert_array_equal(data.X, [[1, 5], [3, 7], [3, 6], [4, 6]])
    np.testing.assert_array_equal(data.labels, [1, 0, 1, 1])
    assert data.is_outlier is None


def test_fetching_outliers_marks_the_one_label(tmp_path):
    def get(**asked):
        return {"data": np.zeros((3, 1)), "target": np.array(["-1", "1", "-1"]),
                "feature_names": ["a"]}  # fmt: skip

    data = Sets(fetch("mammography", tmp_path, get=get).parent).load("mammography")
    np.testing.assert_array_equal(data.is_outlier, [False, True, False])


def test_fetching_without_a_network_or_of_nothing_says_so(tmp_path):
    def get(**asked):
        raise ConnectionError("no route")

    with pytest.raises(TableError, match="is there a network"):
        fetch("iris", tmp_path, get=get)
    with pytest.raises(TableError, match="OpenML has no set known here as opportunity"):
        fetch("opportunity", tmp_path, get=get)
    assert list(tmp_path.iterdir()) == []
    assert not set(OPENML) & set(ELSEWHERE)
