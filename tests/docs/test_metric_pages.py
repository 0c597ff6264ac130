"""Every metric has a page with notes and a picture whose values are the library's own."""

import sys
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from equirank import as_ranking_data, metrics

DOCS = Path(__file__).parents[2] / "docs"
SVG = "{http://www.w3.org/2000/svg}"
sys.path.insert(0, str(DOCS / "_ext"))  # where Sphinx finds them, too
notes_of, examples, pictures, pages = (
    import_module(name)
    for name in ("metric_notes", "metric_examples", "metric_pictures", "metric_pages")
)

NOTES = notes_of.read_notes()
NAMES = notes_of.metric_functions()
KINDS = ("class", "function")
every_metric = pytest.mark.parametrize("name", [name for name in NAMES if name in NOTES])


@pytest.fixture(scope="module")
def files():
    if set(NAMES) != set(NOTES):
        pytest.skip("test_every_metric_has_notes_and_nothing_else_has says what is to do")
    return pages.metric_files(DOCS)


def values(name):
    return examples.row_values(name, NOTES[name]["picture"])


def test_every_metric_has_notes_and_nothing_else_has():
    lacking, useless = set(NAMES) - set(NOTES), set(NOTES) - set(NAMES)
    assert not lacking, f"docs/metric_notes.toml needs a table for each of {sorted(lacking)}"
    assert not useless, f"docs/metric_notes.toml has tables of no function: {sorted(useless)}"


def test_every_metric_object_belongs_to_a_function():
    objects = {name for name in metrics.__all__ if notes_of.is_metric(name)}
    described = {notes_of.object_of(name) for name in NAMES} - {None}
    assert described == objects, "run make generate: it writes the function of a class"


def test_a_metric_without_notes_is_refused(monkeypatch):
    def brand_new():
        """Compute something new."""

    brand_new.__module__ = "equirank.metrics.fairness.brand_new"
    monkeypatch.setattr(metrics, "brand_new", brand_new, raising=False)
    monkeypatch.setattr(metrics, "__all__", [*metrics.__all__, "brand_new"])
    with pytest.raises(ValueError, match="nothing on brand_new"):
        pages.metric_files(DOCS)


def test_notes_say_enough():
    assert [fault for name in NAMES for fault in notes_of.faults(name, NOTES[name])] == []


def test_faults_of_notes_say_what_to_do():
    notes = {
        "family": "x",
        "formula": "",
        "cannot_see": "Much",
        "when": "Like {nothing}.",
        "sentence": "S.",
    }
    notes["picture"] = {"rows": [{"label": "l" * 51}]}
    assert notes_of.faults("ndcg", notes) == [
        f"family of ndcg must be one of {', '.join(notes_of.FAMILIES)}, got 'x'",
        "formula of ndcg must be one line of LaTeX",
        "cannot_see of ndcg must have 120 to 900 characters, got 4",
        "cannot_see of ndcg must have at least two sentences",
        "when of ndcg must have 80 to 700 characters, got 15",
        "cannot_see and when of ndcg must link functions with a page, got {nothing}",
        "when of ndcg must link another metric, such as {recall}",
        "sentence of ndcg must have 20 to 160 characters, got 2",
        f"a label of ndcg must have at most 50 characters, got {'l' * 51!r}",
    ]


@pytest.mark.slow
@every_metric
def test_picture_is_valid_and_speaks_to_screen_readers(name):
    picture = NOTES[name]["picture"]
    root = ElementTree.fromstring(pictures.draw(name, picture, "lower is better"))
    title, desc = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert root.get("role") == "img"
    assert root.get("aria-labelledby").split() == [title.get("id"), desc.get("id")]
    assert name in title.text
    words = [text.text for text in root.iter(f"{SVG}text")]
    for row, value in zip(picture["rows"], values(name), strict=True):
        assert examples.said(picture, value) in words
        assert f"{row['label']}: " in desc.text
        assert f": {examples.said(picture, value)}." in desc.text


def read_again(text):
    """Read a list without the code that draws it: groups, grades and costs, top first."""
    words = [word.partition(":") for word in text.split()]
    groups = [word[:1] if word[0].isalpha() else "" for word, _, _ in words]
    grades = [float(word.lstrip("ab") or 1) for word, _, _ in words]
    return groups, grades, [float(cost or 1) for _, _, cost in words]


@pytest.mark.parametrize("name", [n for n in NOTES if NOTES[n]["picture"]["kind"] == "lists"])
def test_values_of_lists_are_the_librarys(name):
    picture = NOTES[name]["picture"]
    title = notes_of.object_of(name)
    for row, value in zip(picture["rows"], values(name), strict=True):
        groups, grades, costs = read_again(row["list"])
        given = {"score": -np.arange(len(grades)), "y": grades}
        given |= {"sensitive_features": groups} if any(groups) else {}
        given |= {"cost": costs} if ":" in row["list"] else {}
        if "aspects" in picture:
            given["X"] = [
                [g == t and y > 0 for t in "ab"] for g, y in zip(groups, grades, strict=True)
            ]
        data = as_ranking_data(**given)
        found = getattr(metrics, title)(**picture.get("options", {})).per_query(data.ranking())
        assert found.value[0] == pytest.approx(float(getattr(value, "passed", value)), abs=1e-12)


def badness(name, value):
    """Return a number that rises from best to worst."""
    total = float(np.sum(getattr(value, "passed", value)))
    better = notes_of.better(name, NOTES[name])
    return -total if better.startswith(("higher", "passing", "nearer 0")) else total


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in NOTES if NOTES[n]["picture"].get("ordered", True)])
def test_rows_go_from_best_to_worst(name):
    found = [badness(name, value) for value in values(name)]
    assert np.all(np.diff(found) >= -1e-12)
    assert found[0] < found[-1]


@pytest.mark.slow
@every_metric
def test_what_a_metric_misses_has_the_same_value(name):
    rows, found = NOTES[name]["picture"]["rows"], values(name)
    for at, row in enumerate(rows):
        if row.get("blind"):
            here, above = badness(name, found[at]), badness(name, found[at - 1])
            assert here == pytest.approx(above, abs=1e-12)


def test_pictures_hold_the_published_examples():
    def drawn(name):
        return [examples.said(NOTES[name]["picture"], value) for value in values(name)]

    assert values("rank_equality_error")[2] == pytest.approx(4 / 24)  # B9 A0 A2 B1 B3 A5 B4 ...
    assert values("rank_parity_error")[1] == 0.5  # A0 A2 B1 B3 B4 B6 B7 B9 A5 A8
    assert drawn("item_impact") == ["0.80, 0.40", "0.95, 0.28", "0.65, 0.35", "1.30, 0.00"]
    assert [sum(value) for value in values("user_utility")] == pytest.approx([1.3, 1.23, 1.2, 1.0])
    assert drawn("dominance") == ["0.00", "0.00", "0.50", "0.50"]
    assert drawn("pareto_dominated") == ["no", "no", "yes"]


@pytest.mark.slow
@every_metric
def test_page_has_everything_in_order(name, files):
    text = files[f"{name}.rst"]
    title = notes_of.object_of(name)
    wanted = [
        notes_of.sentence(name, NOTES[name]),
        "<svg",
        "\nDefinition\n",
        "\nWhat it cannot see\n",
        "\nWhen to use it\n",
        ":Direction:",
        ":Lies in:",
        ":Needs:",
        ":Options:",
        *([f".. autoclass:: equirank.metrics.{title}\n"] if title else []),
        f".. autofunction:: {notes_of.home_of(name).__name__}.{name}\n",
        "\nReference\n",
        *([f"vectors/{name}.json"] if notes_of.vectors(name) else []),
    ]
    places = [text.find(part) for part in wanted]
    assert -1 not in places, wanted[places.index(-1)]
    assert places == sorted(places)
    assert not notes_of.LINK.search(text.replace(NOTES[name]["formula"], ""))


def test_every_public_name_is_described_once(files):
    text = "\n".join(files.values()) + "\n"
    for name in metrics.__all__:
        if not name.startswith("_"):
            found = [text.count(f".. auto{k}:: equirank.metrics.{name}\n") for k in KINDS]
            assert sum(found) == 1, f"{name}: run make generate if the function is missing"


def test_index_lists_every_metric_with_its_sentence(files):
    index = files["index.rst"]
    for name in NAMES:
        entry = f"<{name}>`\n   {notes_of.sentence(name, NOTES[name])}\n"
        assert index.count(entry) == 1


def test_docstring_sections_split_and_join():
    text = "One.\n\nTwo.\n\nParameters\n----------\na : int\n    b\n\n"
    text += "References\n----------\nC.\nD\nE."
    parts = notes_of.sections(text)
    assert list(parts) == ["", "Parameters", "References"]
    assert notes_of.summary(parts) == "One."
    assert notes_of.definition(parts) == "Two."
    assert notes_of.references(parts) == ["C.", "D E."]
    assert "\n".join(notes_of.join(parts)) == text


def test_formulas_are_read_by_the_renderer():
    converter = pytest.importorskip("latex2mathml.converter")
    for name in NAMES:
        drawn = ElementTree.fromstring(converter.convert(NOTES[name]["formula"], display="block"))
        words = "".join(drawn.itertext())
        assert "\\" not in words, f"a command of the formula of {name} is unknown"
