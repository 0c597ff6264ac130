"""The shell of a page: what it is given is escaped, hashed, and offered for download."""

import json
import re
from base64 import b64encode
from hashlib import sha256

import pytest

from equirank.core.table import Table
from equirank.reports.page import chart_for_page, table_rows, write_page
from equirank.reports.provenance import Provenance

HOSTILE = '<img src=x onerror="alert(1)"></script>'
TEMPLATE = """{% extends "shell.html" %}
{% from "macros.html" import chart, chip, data_table, interval, more, name with context %}
{% block top %}<p>{{ said }}</p>{% endblock %}
{% block contents %}<li><a href="#numbers">Numbers</a></li>{% endblock %}
{% block rest %}
<section class="card" aria-labelledby="numbers"><h2 id="numbers">{{ name(said) }}</h2>
{% call data_table("Numbers") %}<b>{{ 0.5|number }}</b>{{ interval("0.1", "0.2") }}{% endcall %}
{{ chip(said) }}{{ chart("one", "A picture.", said) }}{{ more(many) }}</section>
{% endblock %}
{% block about %}Said about it.{% endblock %}
"""


@pytest.fixture(scope="module")
def text():
    tables = {"numbers": Table({"name": [HOSTILE, HOSTILE], "value": [0.5, float("nan")]})}
    return write_page(
        TEMPLATE,
        kind="test page",
        title=HOSTILE,
        first="numbers",
        provenance=Provenance(version="1.2.3", date="2026-07-31"),
        tables=tables | {"none": Table({"a": []})},
        charts={"one": {"mark": "point", "data": {"values": [{"a": HOSTILE}]}}},
        json_name="numbers.json",
        script="page.all('.own');",
        said=HOSTILE,
        many=list(range(300)),
    )


@pytest.mark.slow
def test_texts_are_escaped_everywhere(text):
    page = re.sub(r"<script>.*?</script>", "", text, flags=re.S)
    assert "<img" not in page
    assert page.count("&lt;img src=x") >= 6
    assert page.count("<script") == 2
    assert '"labels":["\\u003cimg' in text


@pytest.mark.slow
def test_the_policy_names_the_scripts(text):
    scripts = re.findall(r"<script>(.*?)</script>", text, re.S)
    hashes = {b64encode(sha256(script.encode()).digest()).decode() for script in scripts}
    assert set(re.findall(r"sha256-([\w+/=]+)", text)) == hashes
    # Charts are interpreted, not compiled.
    assert re.search(r"Content-Security-Policy.*unsafe-eval", text) is None
    assert scripts[0].rstrip().endswith("page.all('.own');\npage.ready();")


def test_what_it_holds(text):
    assert "<title>Test page: &lt;img" in text
    assert "The first 200 of 300 rows are shown" in text
    assert '<div class="plot" data-chart="one">' in text
    assert 'data-csv="numbers"' in text
    assert 'data-csv="none"' not in text
    assert 'data-json="numbers.json"' in text
    assert "Made with equirank 1.2.3, 2026-07-31. Said about it." in text
    document = json.loads(re.search(r'id="result">(.*?)</script>', text, re.S)[1])
    column = document["tables"]["numbers"]
    assert column["name"] == {"type": "label", "codes": [0, 0], "labels": [HOSTILE]}
    assert column["value"]["values"] == [0.5, None]


def test_what_a_template_does_not_know_is_an_error():
    jinja = pytest.importorskip("jinja2")
    with pytest.raises(jinja.UndefinedError, match="unknown"):
        write_page(
            '{% extends "shell.html" %}{% block main %}{{ unknown }}{% endblock %}',
            kind="a", title="b", first="c", provenance=Provenance(version="1"), tables={},
            charts={}, json_name="d",
        )  # fmt: skip


def test_charts_leave_colours_and_title_to_the_page():
    from equirank.plots import tradeoff

    spec = chart_for_page(tradeoff({"name": ["a"], "x": [0], "y": [0]}, mixture=(0, 0, 1, 1)))
    assert not {"config", "title", "$schema"} & set(spec)
    assert "var(--muted)" in json.dumps(spec)


def test_rows_for_a_template():
    assert table_rows(Table({"a": [1.5, float("inf")]})) == [{"a": 1.5}, {"a": None}]
