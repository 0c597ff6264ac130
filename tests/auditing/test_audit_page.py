"""The page as text: complete, escaped, whole in itself."""

import json
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

import pytest
from sample_audit import HOSTILE, sample_audit, sample_claim

from equirank import MissingExtraError
from equirank.auditing.audit_page import render
from equirank.core import environment as extras
from equirank.core.table import Table
from equirank.reports.number_words import FORMATS

pytestmark = pytest.mark.slow


class Page(HTMLParser):
    """Elements with their attributes, the scripts, and the text outside of scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.scripts, self.text, self._open = [], [], "", None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._open = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        self._open = None

    def handle_data(self, data):
        if self._open == "script":
            self.scripts[-1] += data
        elif self._open != "style":
            self.text += data

    def ids(self):
        return [attrs["id"] for _, attrs in self.elements if "id" in attrs]


@pytest.fixture(scope="module")
def result():
    return sample_audit(n_queries=6)


@pytest.fixture(scope="module")
def text(result):
    return render(result)


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


@pytest.fixture(scope="module")
def hostile():
    names = list(HOSTILE.values())
    audited = sample_audit({HOSTILE["script"]: names, HOSTILE["long"]: names[:2]}, n_queries=3)
    audited.facts["title"] = HOSTILE["quotes"]
    audited.notes.append({"kind": "data", "text": HOSTILE["script"]})
    return audited


@pytest.fixture(scope="module")
def hostile_text(hostile):
    return render(hostile)


def test_all_sections_are_there_each_id_once(page):
    ids = page.ids()
    assert len(ids) == len(set(ids))
    whole = ["verdict", "comparison", "quality", "blind", "notes", "methods", "downloads"]
    parts = ["groups", "prefix", "exposure", "selection", "pairs", "scores", "strip", "gaps"]
    parts += ["checks", "queries", "sides"]
    assert {*whole, *(f"{part}-{i}" for part in parts for i in range(3))} <= set(ids)


def test_links_and_labels_lead_somewhere(page):
    ids = set(page.ids())
    for tag, attrs in page.elements:
        if tag == "a":
            assert attrs["href"].removeprefix("#") in ids
        for key in ("aria-labelledby", "aria-controls", "for"):
            assert attrs.get(key, "verdict") in ids


def test_verdict_notes_and_numbers_are_shown(page, result):
    words = " ".join(page.text.split())
    for sentence in [*result.verdict, *(note["text"] for note in result.notes)]:
        assert sentence in words
    assert "−0.111" in words  # noqa: RUF001
    assert "+7.0" in words
    assert "compared with before.csv" in words


def test_it_is_whole_in_itself(page, text):
    for tag, attrs in page.elements:
        assert not {"src", "srcset", "background"} & set(attrs)
        assert tag not in ("iframe", "object", "embed", "img", "base")
        assert tag != "link" or attrs["href"] == "data:,"  # so that no icon is asked for
    assert "@import" not in text
    assert "url(" not in re.search(r"<style>(.*?)</style>", text, re.S)[1]
    assert len(text.encode()) < 3_000_000


def test_the_policy_names_exactly_the_scripts_that_run(page):
    running = [
        script
        for script, (_, attrs) in zip(
            page.scripts, [e for e in page.elements if e[0] == "script"], strict=True
        )
        if attrs.get("type") != "application/json"
    ]
    policy = next(a["content"] for t, a in page.elements if t == "meta" and "http-equiv" in a)
    hashes = {b64encode(sha256(script.encode()).digest()).decode() for script in running}
    assert set(re.findall(r"'sha256-([^']+)'", policy)) == hashes
    assert len(hashes) == 2
    assert policy.startswith("default-src 'none'")
    assert "'unsafe-inline'" not in policy.split("script-src")[1].split(";")[0]


def restored(script):
    """Turn the page's copy of the result back as its script does."""
    document = json.loads(script)
    for columns in document["tables"].values():
        for column in columns.values():
            if "codes" in column:
                labels = column.pop("labels")
                column["values"] = [labels[code] for code in column.pop("codes")]
    return document


def test_the_page_carries_the_result_itself(page, result, hostile, hostile_text):
    assert restored(page.scripts[0]) == json.loads(result.to_json())
    assert restored(Page(hostile_text).scripts[0]) == json.loads(hostile.to_json())


def test_hostile_names_are_text_and_nothing_else(hostile_text):
    page = Page(hostile_text)
    tags = [tag for tag, _ in page.elements]
    assert tags.count("script") == 4
    assert "img" not in tags
    assert not any(key.startswith("on") for _, attrs in page.elements for key in attrs)
    assert "<script>window" not in hostile_text
    for key in ("script", "quotes", "emoji", "rtl", "formula"):
        assert HOSTILE[key] in page.text
    assert HOSTILE["long"] in page.text
    panels = [a["data-attribute"] for _, a in page.elements if "data-attribute" in a]
    assert set(panels) == {HOSTILE["script"], HOSTILE["long"]}


def test_what_was_not_measured_is_left_out_or_said():
    bare = sample_audit({"sex": ["f", "m"]}, n_queries=3, relevance=False, against=False)
    page = Page(render(bare))
    words = " ".join(page.text.split())
    assert "No relevance was given" in words
    assert not {"comparison", "quality", "pairs-0", "sides-0"} & set(page.ids())
    assert not any(attrs.get("role") == "tab" for _, attrs in page.elements)
    assert "before.csv" not in words


def test_the_reference_of_impact_ratios_is_what_the_page_says(page):
    words = " ".join(page.text.split())
    assert (
        "divided by that of the reference, the group with the highest rate of those that are not "
        "small. A group has no ratio if fewer than 5 of it would be selected at the overall rate."
    ) in words
    assert "selected most often" not in words
    assert "selection rate / rate of the reference" in page.scripts[0] + "".join(page.scripts)


def test_blind_spots_and_the_sentence_below_them_agree(page, result):
    rows = list(result.tables["blind_spots"])
    assert [row for row in rows if row["property"] == "biased ground truth" and row["detects"]]
    words = " ".join(page.text.split())
    assert (
        "A metric that detects biased ground truth shows that the group ranks lower, not that "
        "relevance is the reason: no metric shows who is missing from the lists, whether the "
        "recorded relevance is itself unfair, or what causes a gap."
    ) in words


@pytest.mark.gate
def test_ratios_are_not_drawn_where_nobody_is_compared():
    audited = sample_audit({"sex": ["f", "m"]}, n_queries=3)
    assert "Impact ratios." in render(audited)
    columns = audited.tables["selection"].to_dict()
    columns["impact_ratio"] = [float("nan")] * len(columns["impact_ratio"])
    audited.tables["selection"] = Table(columns)
    assert "Impact ratios." not in render(audited)
    assert "Selection rates." in render(audited)


def test_kept_lists_are_counted():
    many = sample_audit({"sex": ["f", "m"]}, n_queries=9, against=False)
    many.facts |= {"drilldown_kept": 9, "drilldown_total": 12_345}
    assert "The 9 most unequal of 12,345 lists are shown" in render(many)


@pytest.mark.gate
def test_long_tables_are_cut_and_say_so():
    groups = [f"school {i}" for i in range(220)]
    audited = sample_audit({"school": groups}, n_queries=2, against=False, relevance=False)
    words = " ".join(Page(render(audited)).text.split())
    assert "The first 200 of 220 rows are shown" in words
    assert "Charts show the 24 largest of 220 groups" in words
    assert "school 199" in words
    assert "school 200" not in words


def test_without_jinja_the_extra_is_named(monkeypatch):
    result = sample_audit({"sex": ["f", "m"]}, n_queries=2, against=False)
    found = extras.importlib.import_module

    def missing(name):
        if name == "jinja2":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return found(name)

    monkeypatch.setattr(extras.importlib, "import_module", missing)
    with pytest.raises(MissingExtraError, match=r"jinja2 .*equirank\[report\]"):
        render(result)


@pytest.mark.parametrize(
    ("form", "value", "written"),
    [
        ("count", None, "\u2013"),
        ("number", -1.5, "\u22121.50"),
        ("number", float("nan"), "\u2013"),
        ("number", float("inf"), "\u2013"),
        ("number", -0.0001, "0.000"),
        ("signed", -0.5, "\u22120.500"),
        ("signed", 0.00001, "0.000"),
        ("positions", -0.04, "0.0"),
        ("positions", -0.52, "\u22120.5"),
        ("share", 0.12345, "12.3%"),
        ("ratio", 0.806, "0.81"),
        ("p_value", 0.00051, "0.001"),
        ("p_value", 0.0004, "< 0.001"),
    ],
)
def test_numbers_are_written_for_readers(form, value, written):
    assert FORMATS[form](value) == written


@pytest.mark.gate
def test_very_long_names_do_not_swallow_sentences(hostile, hostile_text):
    assert HOSTILE["long"] in hostile.tables["groups"]["group"]
    hostile.claims.append(sample_claim("c9", "sex", HOSTILE["long"], shares=(0.1, 0.5), size=2.0))
    words = " ".join(Page(render(hostile)).text.split())
    assert 'x…" (sex) rank on average 7 positions lower than everyone else' in words


@pytest.mark.gate
def test_a_warning_is_shown_once_and_sentences_beyond_five_are_folded(result):
    loud = next(note["text"] for note in result.notes if note["kind"] == "warning")
    bare = sample_audit({"sex": ["f", "m"]}, n_queries=2, against=False)
    assert " ".join(Page(render(bare)).text.split()).count(loud) == 1
    bare.claims += [sample_claim(f"c{i}", "sex", f"g{i}", size=0.01 * i) for i in range(2, 9)]
    text = render(bare)
    assert len(bare.verdict) == 5
    lead, _, folded = text.partition('<details class="rest"')
    assert '<a href="#statements">3 more statements</a>' in lead
    assert all(f"&#34;g{i}&#34; (sex) rank" in folded for i in (2, 3, 4))
    assert all(f"&#34;g{i}&#34; (sex) rank" not in lead for i in (2, 3, 4))
    assert "&#34;g8&#34; (sex) rank" in lead


def test_names_of_metrics_may_be_broken_into_lines_and_are_escaped():
    bare = sample_audit({"sex": ["f", "m"]}, n_queries=2, against=False)
    columns = bare.tables["metrics"].to_dict()
    columns["metric"] = ["RankGap.a_b<i>"]
    bare.tables["metrics"] = Table(columns)
    assert "Rank<wbr>Gap.<wbr>a_<wbr>b&lt;i&gt;" in render(bare)
