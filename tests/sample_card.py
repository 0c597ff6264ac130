"""A model card of two groups and three lists; its numbers mean nothing."""

from equirank import as_ranking_data, audit, evaluate
from equirank.core.table import Table
from equirank.recipes.model_card import ModelCard


def make(name="boost", groups=("f", "m"), column="age", audited=True):
    people = [groups[at % 2] for at in range(24)]
    data = as_ranking_data(
        y=[at % 3 for at in range(24)],
        qid=[at // 8 for at in range(24)],
        score=[float(at * 7 % 24) for at in range(24)],
        sensitive_features={"sex": people},
    )
    ranking = data.ranking()
    facts = dict.fromkeys(
        ("rows", "queries", "fitted_rows", "fitted_queries", "held_rows", "held_queries"), 24
    )
    facts |= {"how": "25 % of the lists (1 of 4)", "seed": 7, "kept": "It is the one measured."}
    facts |= {"file": "people.csv", "fingerprint": "abc123", "n_features": 1, "rerank": []}
    facts |= {"needs": f"1 feature column, {column}", "folder": repr(name), "call": ""}
    facts |= {"command": f"equirank predict {name}"}
    facts["feature_names"] = [column]
    params = {"parameter": ["a", "b"], "of": ["C", "C"], "value": ["1", "2"], "default": ["1", "3"]}
    return ModelCard(
        name=name,
        class_name="RankBoost",
        summary="Boosted rankers.",
        facts=facts,
        params=Table(params | {"same": [True, False]}),
        columns=Table({"column": [column], "role": ["feature"], "holds": ["numbers"]}),
        groups=Table(
            {"attribute": ["sex"] * 2, "group": groups, "entries": [12, 12], "share": [0.5, 0.5]}
        ),
        evaluation=evaluate(ranking, "NDCG@3", n_boot=20),
        by_group={"sex": evaluate(ranking, "NDCG@3", by="sex", n_boot=20)},
        audit=audit(ranking, metrics="NDCG@3", n_boot=20, n_permutations=20) if audited else None,
        limits=["It ends here."],
        uses=["Purpose: shortlists.", "It orders lists."],
    )
