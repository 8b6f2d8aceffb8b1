"""Pages are filled from templates: all that comes from a file is text, and nothing is forgotten."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import jinja2
import pytest

from isinglass.plots import pages

SOURCE = Path(__file__).resolve().parents[2] / "src"
TEMPLATES = sorted(p.relative_to(SOURCE).as_posix() for p in SOURCE.rglob("*.j2"))


@pytest.fixture
def filled():
    """What a template of these words becomes."""

    def fill(source, **values):
        return pages._environment().from_string(source).render(values)

    return fill


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("a\x1b[31m\nb\u202e", "a\\x1b[31m\\nb\\u202e"),
        ("5 % of \"it\" & 'that'", "5&nbsp;% of &quot;it&quot; &amp; &#x27;that&#x27;"),
        (5, "5"),
    ],
)
def test_a_value_is_escaped_however_it_comes_into_a_page(filled, value, shown):
    pieces = '{% import "isinglass/plots/pieces.html.j2" as p %}'
    assert filled("{{ value }}", value=value) == shown
    assert filled("{% macro m(v) %}{{ v }}{% endmacro %}{{ m(value) }}", value=value) == shown
    assert shown in filled(pieces + "{{ p.bullets([value]) }}", value=value)
    assert shown in filled(pieces + "{{ p.scrolled(['h'], [[value]]) }}", value=value)
    for table in (["h", value], ["h", "i"]), (["h", "i"], [value, value]):
        source = pieces + "{{ p.stacked(header, [row]) }}"
        made = filled(source, header=table[0], row=table[1])
        assert shown in made
        assert "<script" not in made


def test_what_is_copied_stays_as_it_is_but_for_what_has_no_shape(filled):
    pieces = '{% import "isinglass/plots/pieces.html.j2" as p %}'
    made = filled(pieces + "{{ p.code(lines) }}", lines=["a 5 % <b>", "c\nd"])
    assert "<pre><code>a 5 % &lt;b&gt;\nc\\nd</code></pre>" in made


def test_a_value_that_was_forgotten_is_an_error(filled):
    for source in ("{{ nothing }}", "{% if nothing %}{% endif %}", "{{ 'a' ~ nothing }}"):
        with pytest.raises(jinja2.UndefinedError):
            filled(source)


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_template_can_be_read_from_its_package_and_is_used(name):
    environment = pages._environment()
    environment.get_template(name)
    users = [p for e in ("py", "j2") for p in SOURCE.rglob(f"*.{e}")]
    assert any(f'"{name}"' in p.read_text(encoding="utf-8") for p in users)


def test_nothing_is_taken_for_html_but_what_was_drawn_or_built_here():
    found = {
        (name, word)
        for name in TEMPLATES
        for word in re.findall(r"([^\s{]+) \| safe", (SOURCE / name).read_text(encoding="utf-8"))
    }
    assert found == {
        ("isinglass_papers/core/figures.html.j2", "script"),
    }


def test_jinja_loads_only_when_a_page_is_made():
    code = (
        "import sys; from isinglass.plots import pages; import isinglass.cli; "
        "assert not {'jinja2', 'markupsafe'} & set(sys.modules); "
        "pages.render('isinglass/plots/summary.html.j2', verdict='', sentences=()); "
        "assert 'jinja2' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
