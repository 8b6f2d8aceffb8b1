"""What a reproduction writes, and where its data come from."""

import csv
import hashlib
import io
import itertools
import json
import re
from dataclasses import replace

import numpy as np
import pytest
import vl_convert

from isinglass.errors import TableError
from isinglass_papers.core.data import MissingData, Sets
from isinglass_papers.core.draw import picture, png, with_rows
from isinglass_papers.core.fetch import ELSEWHERE, OPENML, fetch
from isinglass_papers.core.result import Claim, Figure, Missing, Number, Reproduction
from isinglass_papers.core.run import run
from isinglass_papers.core.write import explore, markdown, summary, write


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
    together = summary([found()])
    assert together.startswith("| paper | where | claim | verdict | ours |")
    assert "| [rotation](rotation.md) | page 2 | It \\| holds. | does not hold |" in together


def test_a_page_names_the_page_of_all_pictures_only_where_there_is_one(tmp_path):
    assert "(figures.html)" in markdown(found())
    alone = write(found(), tmp_path, together=False).read_text(encoding="utf-8")
    assert "figures.html" not in alone
    assert "| where | claim | verdict | ours |" in alone  # some are questions of our own


def test_the_page_names_the_command_that_made_it_archive_included():
    assert found().command == "isinglass reproduce rotation --quick --seed 3"
    long = replace(found(), paper="distortion", full=True, archive=True)
    assert long.command == "isinglass reproduce distortion --full --archive --seed 3"
    assert f"Made by `{long.command}`" in markdown(long)


def test_the_page_to_explore_needs_no_network_and_no_word_ends_its_script():
    text = explore([found()])
    assert "figure0" in text
    assert "<script src" not in text
    assert text.count("</script>") == 1


def test_the_page_to_explore_fits_its_pictures_to_its_width():
    text = explore([found()])
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in text
    assert ".picture{overflow-x:auto}" in text
    assert '<div class="picture" id="figure0">' in text
    # A canvas that is shrunk by the page would look for the pointer at the wrong place.
    assert re.search(r'renderer:\s*[\'"]svg', text)


def drawn(kind: str, labels: tuple[str, ...]) -> str:
    """Two panels of two groups, as SVG."""
    rows = [{"x": x, "y": 1 + i, "who": w, "panel": p}
            for i, x in enumerate("vu") for w in labels for p in ("zeta", "alpha")]  # fmt: skip
    spec = picture(kind, "x:N", "y", color="who", panel="panel", columns=2)
    return vl_convert.vegalite_to_svg(with_rows(spec, rows))


def test_bars_in_panels_stand_side_by_side():
    marks = re.findall(r"mark-rect.*?</g>", drawn("bar", ("one", "two")))
    assert len(marks) == 2
    for panel in marks:
        bars = [(float(x), float(w)) for x, w in re.findall(r'd="M([\d.]+),[\d.]+h([\d.]+)', panel)]
        assert len(bars) == 4
        for (x, width), (later, _) in itertools.pairwise(bars):
            assert width > 20
            assert later >= x + width - 1e-6


def test_panels_and_names_come_in_the_order_of_the_rows():
    words = re.findall(r">([a-z]+)</text>", drawn("bar", ("two", "one")))
    assert words.index("zeta") < words.index("alpha")
    assert words.index("v") < words.index("u")
    assert words.index("two") < words.index("one")


def test_long_names_in_the_legend_are_whole_and_below_one_another():
    long = "multiparty perturbation with a noise of its own and a long name"
    assert f">{long}</text>" in drawn("line", ("short", long))
    rows = [{"x": 1, "y": 1, "who": w} for w in ("short", long)]
    columns = [
        with_rows(picture("point", "x", "y", color="who"), some)["config"]["legend"]["columns"]
        for some in (rows[:1], rows)
    ]
    assert columns == [7, 1]


def test_drawing_leaves_the_specification_as_it_was():
    spec = picture("line", "x", "y", color="who", panel="p")
    before = json.dumps(spec)
    with_rows(spec, [{"x": 1, "y": 2, "who": "a", "p": "b"}])
    assert json.dumps(spec) == before


@pytest.mark.parametrize(
    ("number", "agrees"),
    [
        ((9646.1, 9600.0, 9580.0, 9646.0), True),  # within one unit of the last digit, 0.1
        ((9646.1, 9600.0, 9580.0, 9645.9), False),
        ((24.0, 22.0, 20.0, 23.0), True),  # a whole number's unit is 1
        ((24.0, 22.0, 20.0, 22.9), False),
        ((0.5, 0.46, 0.45, 0.47), False),  # 0.5 may have been 0.500: a twentieth of it at most
        ((0.5, 0.46, 0.45, 0.475), True),
        ((0.0021, 0.00214, None, None), True),  # without a spread, what rounds to it
        ((0.0021, 0.00216, None, None), False),
        ((1824.4, 1842.0, None, None), True),  # or is 1 % from it
        ((1824.4, 1843.0, None, None), False),
        ((-2.0, -2.01, None, None), True),
        ((0.0, 1e-9, None, None), False),
        ((None, 1.0, None, None), True),  # nothing to compare
        ((1.0, None, None, None), True),
        ((float("inf"), 1.0, 0.0, 2.0), False),
        ((1.0, float("nan"), None, None), False),
    ],
)
def test_when_a_number_of_ours_agrees_with_the_print(number, agrees):
    assert Number("Table 1", "x", *number).agrees is agrees


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
        with pytest.raises(MissingData, match=r"thyroid is missing: OpenML does not have it"):
            sets.load("thyroid")
        with pytest.raises(MissingData, match=r"abalone is missing: .*--data FOLDER --fetch"):
            sets.load("abalone")
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


ARFF = b"""@relation hepatitis
@attribute age numeric
@attribute sex {male, female}
@attribute Class {DIE, LIVE}
@data
30, female, LIVE
?, male, DIE
50, male, LIVE
"""


def served(text: bytes, checksum: str):
    """OpenML's four answers about a set, and its file."""
    columns = [("age", "numeric", 1), ("sex", "nominal", 0), ("Class", "nominal", 0)]
    answers = {
        "/data/list/data_name/hepatitis/limit/2/data_version/1":
            {"data": {"dataset": [{"did": 55, "name": "hepatitis", "version": 1}]}},
        "/data/55": {"data_set_description": {
            "id": "55", "name": "hepatitis", "version": "1", "status": "active", "format": "ARFF",
            "description": "", "md5_checksum": checksum,
            "url": "https://www.openml.org/data/v1/download/55/hepatitis.arff"}},
        "/data/features/55": {"data_features": {"feature": [
            {"index": str(i), "name": name, "data_type": kind, "is_ignore": "false",
             "is_target": str(name == "Class").lower(), "is_row_identifier": "false",
             "number_of_missing_values": str(holes),
             "nominal_value": ["male", "female"] if name == "sex" else ["DIE", "LIVE"]}
            for i, (name, kind, holes) in enumerate(columns)]}},
        "/data/qualities/55": {"data_qualities": {"quality": [
            {"name": "NumberOfInstances", "value": "3.0"}]}},
    }  # fmt: skip
    files = {path: json.dumps(answer).encode() for path, answer in answers.items()}

    class Answer(io.BytesIO):
        def info(self):
            return {}

    def urlopen(request, *more, **options):
        (path,) = (p for p in (*files, "hepatitis.arff") if request.full_url.endswith(p))
        return Answer(files.get(path, text))

    return urlopen


def test_a_set_is_fetched_through_scikit_learn_as_openml_sends_it(tmp_path, monkeypatch):
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "cache"))
    checksum = hashlib.md5(ARFF).hexdigest()
    monkeypatch.setattr("sklearn.datasets._openml.urlopen", served(ARFF, checksum))
    data = Sets(fetch("hepatitis", tmp_path).parent).load("hepatitis")
    assert data.column_names == ("age", "sex")
    np.testing.assert_array_equal(data.X, [[30, 1], [40, 0], [50, 0]])
    np.testing.assert_array_equal(data.labels, [1, 0, 1])


@pytest.mark.filterwarnings("ignore:Invalid cache")
def test_a_file_that_is_not_the_announced_one_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "cache"))
    monkeypatch.setattr("sklearn.datasets._openml.urlopen", served(ARFF, "0" * 32))
    with pytest.raises(TableError, match="OpenML does not give hepatitis as expected"):
        fetch("hepatitis", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_fetching_without_a_network_or_of_nothing_says_so(tmp_path):
    def get(**asked):
        raise ConnectionError("no route")

    with pytest.raises(TableError, match="is there a network"):
        fetch("iris", tmp_path, get=get)
    with pytest.raises(TableError, match="OpenML has no set known here as opportunity"):
        fetch("opportunity", tmp_path, get=get)
    assert list(tmp_path.iterdir()) == []
    assert not set(OPENML) & set(ELSEWHERE)
