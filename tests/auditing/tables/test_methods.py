"""Every measure of the report is explained."""


def test_all_is_explained(hiring):
    methods = hiring.tables["methods"]
    names = set(methods["name"])
    measured = {
        metric.partition("(")[0].partition("@")[0] for metric in hiring.tables["gaps"]["metric"]
    }
    measured |= {metric.partition("@")[0] for metric in hiring.tables["metrics"]["metric"]}
    assert measured <= names
    assert {"Intervals", "Permutation p-values", "Detectable difference", "Small cells"} <= names
    for row in methods:
        assert row["formula"], row["name"]
        assert row["reading"].endswith("."), row["name"]
    cited = [row["reference"] for row in methods if row["name"] == "RND"]
    assert "Yang and Stoyanovich" in cited[0]


def test_a_further_metric_is_explained_by_its_docstring():
    from equirank import audit

    result = audit(
        score=[3, 2, 1], sensitive=list("aab"), metrics="NDKL", n_boot=0, n_permutations=0
    )
    row = next(row for row in result.tables["methods"] if row["name"] == "NDKL")
    assert "Geyik" in row["reference"]
    assert row["formula"]
