"""The next version of a model, its last day, and a request that needs no table to be answered."""

import datetime
import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest
from tests.cli.commands import inside
from tests.cli.test_cli_model import document, refused

import isinglass as ig
from isinglass import model as model_file
from isinglass.curate.ledger.ledger import Ledger
from isinglass.detect.private import load
from isinglass.detect.private.validity import Validity, read_day
from isinglass.publish.declared import Declared
from isinglass.publish.model_charge import versions
from isinglass.publish.model_request import ModelRequest, RequestId

BASE = ("model", "t.csv", "--epsilon", "0.25", "--bounds", "b.json", "--ledger", "l.db")
MAKE = (*BASE, "--budget", 3, "--name", "ward")
RENEW = (*BASE, "--name", "ward", "--renew")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ISINGLASS_HOME", str(tmp_path / "home"))
    write(0)
    declare("abc")


def write(seed, *, who=False):
    """A table of categories alone: few counts, so that noise is drawn at once."""
    rows = np.random.default_rng(seed).choice(["x", "y", "z"], size=(800, 3)).tolist()
    lines = [",".join([*row, *([str(i)] if who else [])]) for i, row in enumerate(rows)]
    Path("t.csv").write_text("\n".join(["a,b,c,who" if who else "a,b,c", *lines]) + "\n")


def declare(columns, path="b.json", values=("x", "y")):
    Path(path).write_text(json.dumps({name: {"categories": values} for name in columns}))


def card(path):
    return json.loads(model_file.read(path).entries["card.json"])


def validity(path):
    return [card(path)[name] for name in ("version", "supersedes", "expires")]


def test_three_months_are_three_versions_and_three_prices(here):
    first = document(*MAKE, "-o", "1.zip", "--expires", "2099-01-31")
    assert [first[n] for n in ("version", "supersedes", "expires")] == [1, None, "2099-01-31"]
    found = [first]
    for month in (2, 3):
        write(month)
        found.append(document(*RENEW, "-o", f"{month}.zip", "--card", f"{month}.html"))
    assert [f["spent"] for f in found] == [0.25] * 3
    assert [f["left"] for f in found] == [2.75, 2.5, 2.25]
    assert [validity(f"{i}.zip") for i in (1, 2, 3)] == [
        [1, None, "2099-01-31"], [2, 1, None], [3, 2, None],
    ]  # fmt: skip
    documents = {model_file.read(f"{i}.zip").entries["model.json"] for i in (1, 2, 3)}
    assert len(documents) == 3
    page = " ".join(Path("3.html").read_text().split())
    assert "This is version 3 of the model. It takes the place of version 2" in page
    with Ledger("l.db") as ledger:
        assert [m.spend.micro for m in ledger.paid_models()] == [250_000] * 3
        assert ledger.verify().problems == []


def test_a_stored_model_asked_again_has_the_same_bytes(here):
    """With its version and its last day, which is kept; and it is the newest of its request."""
    document(*MAKE, "-o", "1.zip", "--expires", "2099-01-31")
    first = Path("1.zip").read_bytes()
    again = document(*MAKE, "-o", "1.zip", "--force")  # without the day
    assert (again["spent"], again["expires"]) == (0.0, "2099-01-31")
    assert Path("1.zip").read_bytes() == first
    document(*RENEW, "-o", "2.zip")
    for name in ("3.zip", "4.zip"):
        assert document(*MAKE, "-o", name)["version"] == 2
        assert Path(name).read_bytes() == Path("2.zip").read_bytes()
    # Another day is another card, around the same noised counts, for nothing.
    moved = document(*MAKE, "-o", "5.zip", "--expires", "2099-02-28")
    assert (moved["spent"], moved["expires"]) == (0.0, "2099-02-28")
    one, other = (model_file.read(f"{i}.zip").entries["model.json"] for i in (2, 5))
    assert one == other


def test_a_renewal_needs_an_earlier_version(here):
    said = refused(*MAKE, "--renew", "-o", "m.zip")
    assert "no model called ward is paid for in this ledger" in said
    assert "for a first one leave --renew out" in said
    assert "there is none to renew" in refused(*RENEW, "-o", "m.zip")  # without a budget, too
    assert not Path("l.db").exists()
    document(*MAKE, "-o", "m.zip")
    said = refused(*BASE, "--name", "other", "--renew", "-o", "n.zip")
    assert "no model called other" in said
    assert "--name must be one that is (ward)" in said
    assert "leave --again out" in refused(*RENEW, "--again", "-o", "n.zip")
    assert "--renew, --secret" in refused(
        *BASE[:-2], "--no-ledger", "--name", "ward", "--renew", "-o", "n.zip"
    )
    # Of other settings, too: a version follows from the name alone.
    found = document(*[w if w != "0.25" else "0.5" for w in RENEW], "-o", "n.zip")
    assert (found["version"], found["left"]) == (2, 2.25)


@pytest.mark.parametrize(
    "day", ["2099-02-30", "2099-2-3", "20990203", "tomorrow", "", "2099-W01-1", "2099-01-01T00"]
)
def test_a_last_day_is_a_day(here, day):
    assert "--expires must be a day written as 2027-03-31 is" in refused(
        *MAKE, "-o", "m.zip", "--expires", day
    )
    assert not Path("l.db").exists()


def test_a_last_day_that_is_over_is_refused_before_anything_is_paid(here, monkeypatch):
    today = datetime.date.today()
    over = today - datetime.timedelta(days=1)
    assert "--expires is over" in refused(*MAKE, "-o", "m.zip", "--expires", over)
    assert not Path("l.db").exists()
    # What was paid for is given as it was, whenever it is asked for.
    document(*MAKE, "-o", "m.zip", "--expires", today)

    class Later(datetime.date):
        @classmethod
        def today(cls):
            return today + datetime.timedelta(days=9)

    monkeypatch.setattr(datetime, "date", Later)
    assert document(*MAKE, "-o", "n.zip", "--expires", today)["spent"] == 0
    assert Path("n.zip").read_bytes() == Path("m.zip").read_bytes()


# Without the table.


@pytest.mark.parametrize("drop", [(), ("--drop", "who"), ("--drop", "w*")])
def test_what_was_paid_for_is_given_without_the_table(here, drop):
    if drop:
        write(0, who=True)
    document(*MAKE, *drop, "-o", "m.zip")
    first = Path("m.zip").read_bytes()
    for broken in (lambda: os.remove("t.csv"), lambda: Path("t.csv").write_text("x\n\0")):
        broken()
        found = inside(*MAKE, *drop, "-o", "m.zip", "--force", "--json", "--owner-card", "o.html",
                       "--card", "c.html")  # fmt: skip
        assert found.returncode == 0, found.stderr
        assert "this was paid for before, and is version 1" in found.stderr
        assert Path("m.zip").read_bytes() == first
        os.remove("o.html")
        os.remove("c.html")
    # Other settings are another request, which needs the table.
    os.remove("t.csv")
    for change in (("--threshold", 0.1), ("--records-per-person", 1, "--person", "who")):
        assert "t.csv" in refused(*MAKE, *drop, *change, "-o", "n.zip")


def request(drop=(), person=None, columns="abc", **more):
    declared = Declared(dict.fromkeys(columns, (-10.0, 10.0)))
    return ModelRequest("ward", declared, "0.25", "1e-6", drop, person, **more)


def old_style(*words):
    """Make a model as earlier versions did, whose entries keep no settings."""
    kept = Ledger.charge_model
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            Ledger, "charge_model", lambda self, draw, *, about, **how: kept(self, draw, **how)
        )
        return document(*words)


def test_an_entry_of_before_is_found_by_the_columns_that_were_stored(here):
    old_style(*MAKE, "-o", "m.zip")
    with Ledger("l.db") as ledger:
        assert [model.about for model in ledger.paid_models()] == [{}]
    first = Path("m.zip").read_bytes()
    # With the table: more is declared than it holds, so only its columns tell the request.
    declare("abcd", "wide.json")
    wide = [w if w != "b.json" else "wide.json" for w in MAKE]
    assert document(*wide, "-o", "w.zip")["spent"] == 0
    # Without it: what is declared and not dropped is what was counted.
    os.remove("t.csv")
    assert "t.csv" in refused(*wide, "-o", "n.zip")
    for words in (MAKE, (*MAKE, "--drop", "who"), (*wide, "--drop", "d")):
        assert document(*words, "-o", "n.zip", "--force")["spent"] == 0
        assert Path("n.zip").read_bytes() == Path("w.zip").read_bytes() == first
    for change in (("--drop", "a"), ("--threshold", 0.1), ("--person", "who")):
        assert "t.csv" in refused(*MAKE, *change, "-o", "n.zip", "--force")
    declare("abc", values=("x", "z"))
    assert "t.csv" in refused(*MAKE, "-o", "n.zip", "--force")


def test_a_request_is_known_by_all_that_it_says():
    plain = request()
    others = [
        request(drop=("a",)), request(person="w"), request(columns="ab"), request(rounds=1),
        request(records_per_person=2), request(threshold_share=0.1),
        ModelRequest("war", plain.declared, "0.25", "1e-6"),
        ModelRequest("ward", plain.declared, "0.2", "1e-6"),
        ModelRequest("ward", plain.declared, "0.25", "1e-7"),
        ModelRequest("ward", Declared(plain.declared.bounds, {}, {"a": 1.0}), "0.25", "1e-6"),
        ModelRequest("ward", Declared(plain.declared.bounds, {}, {}, ("a",)), "0.25", "1e-6"),
        ModelRequest("ward", Declared({}, {n: [1] for n in "abc"}), "0.25", "1e-6"),
        ModelRequest("ward", Declared({}, {n: [True] for n in "abc"}), "0.25", "1e-6"),
    ]  # fmt: skip
    given = [r.as_given() for r in (plain, *others)]
    assert len(set(given)) == len(given)
    assert request(records_per_person=1).as_given() == plain.as_given()
    assert request(drop=("x", "y")).as_given() == request(drop=("y", "x")).as_given()


@pytest.mark.parametrize(
    "name", ["ward", "a b", "x 1/2/3", "model 1/2/3", "x 1/2/3 " + "0" * 32, " ", "0" * 16]
)
@pytest.mark.parametrize("token", [None, "0123456789abcdef"])
def test_a_request_s_name_is_read_back_whatever_the_model_is_called(name, token):
    made = RequestId(name, "250000/1000000000/1", "f" * 32, token)
    assert RequestId.read(str(made)) == made


def test_what_another_caller_charged_is_no_version(here):
    document(*MAKE, "-o", "m.zip")
    with Ledger("l.db") as ledger:
        for name in ("model", "model ward", "model ward 1/2/3 " + "f" * 31, "ward"):
            ledger.charge_model(
                lambda: b"x", micro=1, femto=0, rho=None, records_per_person=1, request_id=name,
                digest=b"d",
            )  # fmt: skip
        assert len(ledger.paid_models()) == 5
        assert [v.number for v in versions(ledger, "ward")] == [1]


# Fresh noise, once.


@pytest.mark.parametrize("option", ["--renew", "--again"])
def test_a_stopped_renewal_goes_on_where_it_was(here, monkeypatch, option):
    """Paid, and killed before the file was written: the same command gives what was paid for."""
    from isinglass.cli.show import StoppedError

    document(*MAKE, "-o", "1.zip")
    with pytest.MonkeyPatch.context() as patch:

        def killed(*_, **__):
            raise StoppedError(signal.SIGTERM)

        patch.setattr(model_file, "write", killed)
        done = inside(*BASE, "--name", "ward", option, "-o", "2.zip")
    assert done.returncode == 128 + signal.SIGTERM
    assert "the same command gives the stored one for nothing" in done.stderr
    assert not Path("2.zip").exists()
    os.rename("t.csv", "away.csv")
    found = inside(*BASE, "--name", "ward", option, "-o", "2.zip", "--json")
    assert found.returncode == 0, found.stderr
    told = json.loads(found.stdout)
    assert (told["spent"], told["left"], told["version"]) == (0.0, 2.5, 2)
    assert "version 2 was paid for by this command, which was stopped" in found.stderr
    # That is over: the same words ask for the next month now.
    os.rename("away.csv", "t.csv")
    assert document(*BASE, "--name", "ward", option, "-o", "3.zip")["version"] == 3
    assert list(Path("home/requests").iterdir()) == []


def test_a_plain_request_also_ends_a_stopped_renewal(here, monkeypatch):
    document(*MAKE, "-o", "1.zip")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model_file, "write", lambda *_, **__: 1 / 0)
        assert inside(*RENEW, "-o", "2.zip").returncode == 2
    assert document(*MAKE, "-o", "2.zip")["version"] == 2
    assert document(*RENEW, "-o", "3.zip")["version"] == 3


def test_what_could_not_be_computed_is_paid_for_and_said(here):
    document(*MAKE, "-o", "1.zip")
    from isinglass.detect.private.detector import PrivateDetector

    other = [w if w != "ward" else "other" for w in MAKE]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PrivateDetector, "fit_parts", lambda *_: 1 / 0)
        for words in (RENEW, other):
            assert "what it costs is spent" in refused(*words, "-o", "2.zip")
    assert "version 1 of other was paid for and could not be computed; --again pays once more" in (
        refused(*other, "-o", "2.zip")
    )
    assert document(*other, "--again", "-o", "2.zip")["version"] == 2
    found = document(*RENEW, "-o", "3.zip")
    assert (found["version"], found["spent"], found["left"]) == (3, 0.25, 1.75)


def test_a_renewal_that_does_not_fit_leaves_nothing_behind(here):
    document(*MAKE, "-o", "1.zip")
    done = inside(*[w if w != "0.25" else "2.9" for w in RENEW], "-o", "2.zip")
    assert done.returncode == 1
    assert "nothing was spent" in done.stderr
    assert list(Path("home/requests").iterdir()) == []
    assert not Path("2.zip").exists()


def test_a_damaged_token_is_drawn_anew(here):
    document(*MAKE, "-o", "1.zip")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model_file, "write", lambda *_, **__: 1 / 0)
        inside(*RENEW, "-o", "2.zip")
    (token,) = Path("home/requests").iterdir()
    token.write_text("no token\n")
    assert document(*RENEW, "-o", "2.zip")["version"] == 3


# Whoever scores.


def at(monkeypatch, day):
    class Day(datetime.date):
        @classmethod
        def today(cls):
            return cls.fromisoformat(day)

    monkeypatch.setattr(load.datetime, "date", Day)


def test_scoring_warns_after_the_last_day_and_of_an_earlier_version(here, monkeypatch):
    assert inside("keygen", "-o", "k").returncode == 0
    signed = ("--signing-key", "k", "--expires", "2099-01-31")
    document(*MAKE, *signed, "-o", "1.zip")
    document(*RENEW, "--signing-key", "k", "-o", "2.zip")
    score = ("score", "t.csv", "--own-rows", "--model")
    # Up to its last day, and with nothing newer seen here, nothing is said.
    at(monkeypatch, "2099-01-31")
    assert document(*score, "1.zip")["warnings"] == []
    at(monkeypatch, "2099-02-01")
    expired = "ward expired: its owner meant it to be used until 2099-01-31"
    done = inside(*score, "1.zip", "--json")
    assert done.stderr == f"warning: {expired}\n"
    assert json.loads(done.stdout)["warnings"] == [expired]
    assert document(*score, "2.zip")["warnings"] == []
    older = "ward is version 1, and version 2 was used here before: it takes the place of this one"
    assert document(*score, "1.zip")["warnings"] == [expired, older]
    assert document(*score, "1.zip", "--signer", "k.pub")["warnings"] == [expired, older]
    at(monkeypatch, "2099-01-31")
    with pytest.warns(UserWarning, match="is version 1, and version 2 was used here"):
        ig.load_model("1.zip")
    # A machine that has not seen it cannot know.
    monkeypatch.setenv("ISINGLASS_HOME", "elsewhere")
    at(monkeypatch, "2099-02-01")
    assert document(*score, "1.zip", "--signer", "k.pub")["warnings"] == [expired]


def test_only_the_same_signer_takes_the_place_of_a_version(here):
    for key in ("k", "other"):
        assert inside("keygen", "-o", key).returncode == 0
    document(*MAKE, "--signing-key", "k", "-o", "1.zip")
    document(*RENEW, "--signing-key", "other", "-o", "2.zip")
    document(*MAKE, "-o", "3.zip")
    score = ("score", "t.csv", "--own-rows", "--model")
    assert document(*score, "2.zip", "--signer", "other.pub")["warnings"] == []
    assert document(*score, "1.zip", "--signer", "k.pub")["warnings"] == []
    unsigned = "the model is not signed: anybody may have made or changed it"
    assert document(*score, "3.zip", "--unsigned")["warnings"] == [unsigned]
    assert document(*score, "1.zip", "--signer", "k.pub")["warnings"] == []


def test_a_card_that_says_no_version_is_an_older_one():
    assert Validity.of_card(b"{}") == Validity()
    full = Validity(3, datetime.date(2027, 3, 31))
    assert Validity.of_card(json.dumps(full.to_json()).encode()) == full
    assert full.to_json() == {"version": 3, "supersedes": 2, "expires": "2027-03-31"}
    assert read_day("2027-03-31") == full.expires
    for broken in ('{"version": 0}', '{"version": "1"}', '{"version": 1.5}', '{"expires": 3}', "[]",
                   '{"expires": "soon"}'):  # fmt: skip
        with pytest.raises(ValueError, match="must"):
            Validity.of_card(broken.encode())
