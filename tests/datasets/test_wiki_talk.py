"""Wiki talk: terms as whole words, a pluggable embedding."""

import numpy as np
import pytest

from equirank import DataError
from equirank.datasets import load_wiki_talk

CSV = '''\
rev_id,comment,toxic
11,"a plain
comment, with ""quotes""",False
12,the word Blue here,True
13,blueish is another word,True
14,(BLUE),False
'''
TSV = 'Sentiment\tSentimentText\n1\t"unbalanced blue\n0\tfine\n'


@pytest.fixture(autouse=True)
def files(data_folder):
    data_folder("wiki_talk/wikipedia-detox-250-line-data.tsv", TSV)
    data_folder("wiki_talk/toxicity_fuzzed_testset.csv", CSV.replace("Blue", "red"))
    return data_folder("wiki_talk/toxicity_nonfuzzed_testset.csv", CSV).parent


def mentions(data):
    attribute = data.sensitive["mentions"]
    return [attribute.categories[code] for code in attribute.codes]


def test_term_is_a_whole_word_in_any_case():
    data = load_wiki_talk(term="blue")
    assert mentions(data) == ["other", "term", "other", "term"]
    assert data.y.tolist() == [0, 1, 1, 0]
    assert data.ids.tolist() == [11, 12, 13, 14]
    assert mentions(load_wiki_talk(term="word here")) == ["other"] * 4
    assert mentions(load_wiki_talk(term="blue.*")) == ["other"] * 4


def test_versions(files):
    assert mentions(load_wiki_talk(version="fuzzed", term="blue")) == [
        "other",
        "other",
        "other",
        "term",
    ]
    small = load_wiki_talk(version="detox250", term="blue")
    assert (small.y.tolist(), mentions(small)) == ([1, 0], ["term", "other"])
    assert len(load_wiki_talk(path=files)) == 4


def test_hashed_words_by_default():
    data = load_wiki_talk(n_features=64)
    assert data.X.shape == (4, 64)
    assert hasattr(data.X, "tocsr")
    assert load_wiki_talk().n_features == 4096
    assert np.asarray(data.X.multiply(data.X).sum(axis=1)).ravel() == pytest.approx(1)
    # words and pairs of words: "the word Blue here" has four and three
    assert data.X[1].nnz <= 7
    assert load_wiki_talk(n_features=2**18).X[1].nnz == 7


def test_embedding():
    seen = []

    def lengths(texts):
        seen.extend(texts)
        return np.array([[len(text)] for text in texts], dtype=np.float32)

    data = load_wiki_talk(embedding=lengths)
    assert seen[0] == 'a plain\ncomment, with "quotes"'
    assert data.X[:, 0].tolist() == [len(text) for text in seen]
    assert data.X.dtype == np.float32


def test_two_lists():
    data = load_wiki_talk(term="blue", query_by_term=True)
    assert data.qids.tolist() == ["other", "term"]
    assert data.ids.tolist() == [11, 13, 12, 14]
    assert mentions(data) == ["other", "other", "term", "term"]


def test_frame():
    frame = load_wiki_talk(term="blue", as_frame=True)
    assert list(frame.columns) == ["id", "comment", "toxic", "mentions"]
    assert list(frame["toxic"]) == [0, 1, 1, 0]
    assert frame["comment"][0] == 'a plain\ncomment, with "quotes"'


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"version": "all"}, "version must be one of"),
        ({"term": ""}, "term of load_wiki_talk must be a word"),
        ({"n_features": 0}, "n_features of load_wiki_talk must be"),
    ],
)
def test_bad(given, said):
    with pytest.raises(DataError, match=said):
        load_wiki_talk(**given)


def test_real(real):
    real("wiki_talk")
    data = load_wiki_talk()
    term = np.array([word == "term" for word in mentions(data)])
    assert (len(data), term.sum(), data.y[term].sum()) == (1492, 157, 93)
    fuzzed = load_wiki_talk(version="fuzzed")
    assert (len(fuzzed), mentions(fuzzed).count("term")) == (1492, 60)
    assert len(load_wiki_talk(version="detox250")) == 249
