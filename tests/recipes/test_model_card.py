"""The model card: what it says, escaped, without a request."""

import re
from html.parser import HTMLParser

import pytest
from sample_audit import HOSTILE
from sample_card import make

pytestmark = pytest.mark.slow

EVIL = HOSTILE["script"]


class Text(HTMLParser):
    """The text outside of scripts and styles, and all elements."""

    def __init__(self, page):
        super().__init__()
        self.text, self.elements, self._skip = "", [], False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._skip = tag in ("script", "style")

    def handle_endtag(self, tag):
        self._skip = False

    def handle_data(self, data):
        self.text += "" if self._skip else data


@pytest.fixture(scope="module")
def page():
    return make().to_html()


def test_what_it_says(page):
    text = " ".join(Text(page).text.split())
    for words in (
        "RankBoost: Boosted rankers.",
        "25 % of the lists (1 of 4), seed 7",
        "It is the one measured.",
        "b = 2",
        "abc123",
        "It ends here.",
        "model = equirank.load('boost')",
        "equirank predict boost",
        "NDCG@3",
        "higher is better",
    ):
        assert words in text
    assert "a = 1" not in text  # which is the default


def test_values_and_intervals_by_group(page):
    card = make()
    (whole,) = (row for row in card.evaluation.summary() if row["group"] is None)
    text = " ".join(Text(page).text.split())
    assert f"{whole['value']:.3f}" in text
    assert f"{whole['low']:.3f} to {whole['high']:.3f}" in text
    for row in card.by_group["sex"].by_group:
        assert f"{row['value']:.3f}" in text
    assert card.audit.verdict[0] in text


def test_differences_in_ndcg_are_claims(page):
    text = " ".join(Text(page).text.split())
    (claim,) = (each for each in make().audit.claims if each.quantity == "NDCG@3")
    assert claim.block == "ii"
    assert "Differences in NDCG, compared with people of the same relevance" in text
    # In these data nothing is a finding, which one sentence states for all comparisons.
    assert claim.status == "cannot_tell"
    start = text.index("Differences in NDCG")
    section = text[start : text.index("Data File", start)]
    assert "No difference between groups is a finding at the 5% level" in section


def test_sections_and_links_agree(page):
    elements = Text(page).elements
    ids = [attrs["id"] for _, attrs in elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    links = {attrs["href"][1:] for tag, attrs in elements if tag == "a"}
    assert links <= set(ids)
    sections = {"model", "quality", "fairness", "data", "parameters", "limits", "loading"}
    assert sections <= links
    assert "places-0" in page


def test_nothing_is_fetched(page):
    for tag, attrs in Text(page).elements:
        assert tag not in ("iframe", "img", "object", "embed")
        assert "src" not in attrs
        if tag == "link":
            assert attrs["href"] == "data:,"
    assert "default-src 'none'" in page


def test_names_are_escaped():
    page = make(name=EVIL, groups=(EVIL, HOSTILE["quotes"]), column=EVIL).to_html()
    outside = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert EVIL not in outside
    assert page.count("<script") == make().to_html().count("<script")
    assert EVIL in Text(page).text


def test_without_groups_it_says_that_fairness_was_not_measured():
    text = Text(make(audited=False).to_html()).text
    assert "Fairness was not measured" in text
    assert "By sex" not in text


def test_training_unfairness_is_shown_beside_random_order():
    from types import SimpleNamespace

    from equirank.recipes.model_card import _unfairness_words

    known = SimpleNamespace(unfairness_=0.1234, chance_unfairness_=0.2)
    words = _unfairness_words(known)
    assert words.startswith("In training the unfairness was 0.123; random orders of the same lists")
    assert "have 0.200. A model" in words
    known.validation_unfairness_ = 0.3
    assert "have 0.200, and the validation lists of the training 0.300. A" in _unfairness_words(
        known
    )
    assert _unfairness_words(SimpleNamespace()) == ""


def test_options_of_lightgbm_are_listed():
    from equirank.rankers import LambdaMART
    from equirank.recipes.model_card import _params

    rows = {row["parameter"]: row for row in _params(LambdaMART(reg_lambda=2.0))}
    assert (rows["reg_lambda"]["value"], rows["reg_lambda"]["default"]) == ("2.0", "")
    assert rows["truncation"]["same"]
