"""The evaluations of the golden corpus: each function without underscore is a case."""

import tempfile
from pathlib import Path

import numpy as np

from equirank import Evaluation, ListSums, Ranking, evaluate, list_sums
from equirank.core.registry import find, metric_names
from equirank.datasets import load_hiring
from equirank.distributed import dask_evaluate
from equirank.metrics import DCG, NDCG, RKL, RND, CostNDCG, ExposureGap, Precision
from equirank.policies import PlackettLuce

from .data import as_data, credit, drawn, people, scattered, some

#: What a case returns, or parts of it.
Result = Evaluation
FEW = {"n_boot": 200, "n_permutations": 99}
RELEVANCE = "NDCG@10, DCG@5, AveragePrecision, Precision@5, Recall@5, ERR, RBP, ReciprocalRank"
GAPS = "RND(step=5), RKL(step=5), RRD(step=5), AWRF@10, NDKL, Skew@10, ExposureGap"
COLUMNS = {"qid": "list", "y": "grade", "score": "points"}
NAMED = {"query": "list", "score": "points", "relevance": "grade"}


def stored(result, name):
    """Return what is stored of an evaluation: its tables, its text and its values per list."""
    found = result.to_dict() | {"text": repr(result).splitlines()}
    try:
        found["per_list"] = {name: result.per_query(name) for name in result.metrics}
    except ValueError as error:
        found["per_list"] = str(error)
    else:
        found["values"] = result.to_table()
        found["qids"] = result.qids
    found["chance"] = [[each.chance, each.edge(0.95)] for each in result.results]
    return found


def hiring():
    return evaluate(load_hiring(), "NDCG@10, RND(by='sex')@50, ExposureGap(by='age_group')")


# Metrics of every family


def relevance():
    return evaluate(as_data(people(51)), RELEVANCE, **FEW)


def relevance_and_ties():
    return evaluate(as_data(people(51, digits=-1)), RELEVANCE, **FEW)


def relevance_of_pairs():
    metrics = "AUC, AverageRank, Bpref, KendallLoss, PairLoss"
    return evaluate(as_data(people(52)), metrics, **FEW)


def relevance_and_thresholds():
    metrics = "Precision(threshold=2)@5, AveragePrecision(threshold=2), NDCG(gain='linear')"
    return evaluate(as_data(people(52)), metrics, **FEW)


def prefixes():
    return evaluate(as_data(people(53)), GAPS, **FEW)


def prefixes_and_ties():
    return evaluate(as_data(people(53, digits=-1)), GAPS, **FEW)


def exposure():
    metrics = "ExposureGap, ExposureByGroup, DisparateTreatment, DisparateImpact, GroupDisparity"
    return evaluate(as_data(people(54)), metrics, **FEW)


def pairs_of_groups():
    metrics = "GroupPairwiseAccuracy, CrossGroupAUC, RankEqualityError, RankParityError"
    return evaluate(as_data(people(54)), f"{metrics}, RankCalibrationError", **FEW)


def rates_of_groups():
    metrics = "AdverseImpactRatio@5, RecallGap@5, CalibrationGap, GroupBenefit"
    return evaluate(as_data(people(55)), metrics, **FEW)


def within_groups():
    metrics = "IGFRatio, IGFAggregated, InfeasibleIndex, FAStarIRTest@10"
    return evaluate(as_data(people(55)), metrics, **FEW)


def individuals():
    metrics = "Consistency, LipschitzViolations, IndividualDisparity, ExpectedExposureLoss"
    data = as_data(people(56, [12] * 20))
    return evaluate(data, f"{metrics}, IndividualAmortisedAttention", **FEW)


def features():
    metrics = "AlphaNDCG@5, Consistency(n_neighbors=3)"
    return evaluate(as_data(people(56, [12] * 20)), metrics, **FEW)


def costs():
    return evaluate(as_data(people(57)), "CostNDCG@10, CSDCG@10, PairLoss(cost='product')", **FEW)


def every_metric_alone():
    """Return the value of every metric; those that need what the data lack say so."""
    found, data = {}, as_data(people(58, [8] * 10))
    for kind in metric_names():
        name = f"{kind}@3" if find(kind).takes_k else kind
        try:
            found[name] = evaluate(data, name, n_boot=20, n_permutations=19).to_dict()["summary"]
        except ValueError as error:
            found[name] = f"{type(error).__name__}: {error}"
    return found


def metric_objects():
    metrics = [NDCG(gain="linear") @ 5, RND(by="race", protected="b", step=2), RKL(by="race")]
    return evaluate(as_data(people(59), ("sex", "race")), metrics, **FEW)


# Sizes


def one_list():
    data = as_data(people(60, [80]), ("sex", "age"))
    return evaluate(data, "NDCG@10, RND(by='sex'), ExposureGap(by='age')", **FEW)


def credit_lists():
    made = credit(61, [340, 330, 330])
    return evaluate(as_data(made), "NDCG@20, AUC, RND, AdverseImpactRatio@50", **FEW)


def undefined_lists():
    made = people(62, [4] * 40)
    made["grade"] = np.where(np.arange(160) % 11 < 7, 0.0, made["grade"])
    return evaluate(as_data(made), "NDCG@3, AUC, AveragePrecision, RecallGap@2", **FEW)


def columns_of_a_frame():
    import pandas as pd

    frame = pd.DataFrame(people(63, [10] * 12))
    return evaluate(frame, "NDCG@5, Precision@3", **COLUMNS, n_boot=100, level=0.9)


def lists_2049():
    data = as_data(people(64, [5] * 2049))
    return evaluate(data, "NDCG@3, ExposureGap, RND(step=2)", **FEW)


# By groups


def by_sex():
    return evaluate(as_data(people(65)), "Precision@5, Recall@5, DCG@5", by="sex", **FEW)


def by_two():
    data = as_data(people(65), ("sex", "age"))
    return evaluate(data, "Precision@5, AverageRank", by=("sex", "age"), **FEW)


def by_and_control():
    data = as_data(people(66), ("sex", "age"))
    return evaluate(data, "Recall@5, DCG@10", by="sex", control="age", **FEW)


def by_one_list():
    data = as_data(people(66, [90]), ("sex", "race"))
    return evaluate(data, "Precision@20, NDCG@20", by="race", **FEW)


def by_and_comparisons():
    data = as_data(people(67), ("race",))
    result = evaluate(data, [DCG() @ 5, Precision() @ 5], by="race", **FEW)
    names = ("by_group", "overall")
    found = {name: getattr(result, name) for name in names}
    found |= {method: result.difference(method) for method in ("between_groups", "to_overall")}
    found |= {f"ratio {method}": result.ratio(method) for method in ("to_overall",)}
    return found | {"least": result.group_min(), "most": result.group_max()}


# Comparisons


def versus():
    made = people(68)
    after, before = as_data(made), as_data(made | {"points": made["before"]})
    metrics = "NDCG@10, Precision@5, RND(step=5), ExposureGap"
    one, other = (evaluate(data, metrics, **FEW) for data in (after, before))
    return {"table": one.versus(other), "other": other.versus(one, n_boot=50, n_permutations=99)}


def versus_few_lists():
    made = people(69, [15] * 7)
    after, before = as_data(made), as_data(made | {"points": made["before"]})
    return {"table": evaluate(after, "NDCG, AUC").versus(evaluate(before, "NDCG, AUC"))}


# Unknown labels


def unknown_labels():
    metrics = "RND(step=5), ExposureGap, AWRF@5, GroupPairwiseAccuracy"
    return evaluate(as_data(people(70, unknown=0.1)), metrics, **FEW)


def unknown_labels_by():
    data = as_data(people(70, unknown=0.3), ("race",))
    return evaluate(data, "Precision@5, DCG@5", by="race", **FEW)


# Random rankings


def several_draws():
    return evaluate(drawn(people(71)), "NDCG@10, ExposureGap, RND(step=5), AUC", **FEW)


def weighted_draws():
    ranking = drawn(people(71), 3, weights=np.tile([0.6, 0.3, 0.1], (30, 1)))
    return evaluate(ranking, "NDCG@10, ExposureByGroup, ExpectedExposureLoss, DCG@5", **FEW)


def draws_by_sex():
    return evaluate(drawn(people(72)), "Precision@5, DCG@5", by="sex", **FEW)


def policy():
    data = as_data(people(73, [6] * 12))
    chosen = PlackettLuce(data, temperature=5.0)
    metrics = [NDCG() @ 3, ExposureGap(), CostNDCG() @ 3]
    return {
        "exposure": chosen.exposure(),
        "expected": [chosen.expected(metric) for metric in metrics],
        "sampled": evaluate(chosen.sample(8, random_state=1), metrics, **FEW).to_dict(),
    }


def stable_ties():
    data = as_data(people(74, digits=-1))
    ranking = Ranking.from_scores(data, data.score, ties="stable")
    return evaluate(ranking, "NDCG@10, RND(step=5), AUC", **FEW)


# Sums and streams


def sums():
    made = people(75, [5] * 2200)
    given = {"metrics": "NDCG@3, Precision@2, RND(step=2)", "sensitive": ["sex"], "by": "sex"}
    found = list_sums(made, **NAMED, **given, k=2)
    return evaluate(found, "NDCG@3, Precision@2, RND(step=2)", by="sex", **FEW)


def sums_and_control():
    made = people(76, [6] * 2100)
    split = {"by": "sex", "control": "age"}
    given = {"metrics": "DCG@3, Recall@2", "sensitive": ["sex", "age"], "cross": False}
    return evaluate(list_sums(made, **NAMED, **given, **split), "DCG@3, Recall@2", **split, **FEW)


def sums_stored():
    made = people(77, [5] * 2100)
    rows = made["list"] < "v00900"
    given = NAMED | {"cost": "cost", "sensitive": ["sex"]}
    one = list_sums(some(made, rows), metrics="NDCG@3, CostNDCG", **given)
    whole = one + list_sums(some(made, ~rows), **given, like=one)
    with tempfile.TemporaryDirectory() as folder:
        whole.save(Path(folder, "sums"))
        return evaluate(ListSums.load(Path(folder, "sums")), "NDCG@3, CostNDCG", **FEW)


def sums_of_few_lists():
    made = people(78, [8] * 60)
    metrics = "NDCG@5, ExposureGap"
    found = list_sums(made, **NAMED, sensitive=["sex"], metrics=metrics)
    return evaluate(found, metrics, **FEW)


def stream_of_parquet():
    import pandas as pd

    made = people(79, [5] * 2150)
    pd.DataFrame(scattered(made)).to_parquet("lists.parquet", row_group_size=2000)
    given = {"metrics": "NDCG@3, ERR", "sensitive": ["race"]}
    sums = list_sums("lists.parquet", **NAMED, **given, per_list="values")
    values = pd.concat(pd.read_parquet(each) for each in sorted(Path("values").glob("*.parquet")))
    values = values.sort_values(list(values.columns[:1])).to_dict("list")
    return {"evaluation": evaluate(sums, "NDCG@3, ERR", **FEW).to_dict(), "per_list": values}


def dask_frame():
    import dask
    import dask.dataframe as dd
    import pandas as pd

    frame = pd.DataFrame(scattered(people(80, [9] * 70)))
    with dask.config.set(scheduler="synchronous"):
        parts = dd.from_pandas(frame, npartitions=4)
        metrics = "NDCG@5, Precision@3, ExposureGap"
        return dask_evaluate(parts, metrics, **NAMED, sensitive="sex", by="sex", **FEW)
