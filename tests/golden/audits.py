"""The audits of the golden corpus: each function without underscore is a case."""

import json
import re
import tempfile
from pathlib import Path

import numpy as np

from equirank import (
    AuditResult,
    LabelError,
    ListSums,
    Ranking,
    as_ranking_data,
    audit,
    audit_sums,
    list_sums,
)
from equirank.datasets import hiring_path, load_hiring
from equirank.distributed import dask_audit
from equirank.metrics import NDCG, RND

from .compare import summed
from .data import as_data, credit, drawn, people, positions, probable, scattered, some

#: What a case returns, or parts of it.
Result = AuditResult
#: Resamples of the cases that do not test their number.
FEW = {"n_boot": 200, "n_permutations": 199}
NAMED = {"query": "list", "score": "points", "relevance": "grade"}
RANKED = {"query": "list", "score": "points"}
SEX = {"sensitive": ["sex"]}
BOTH = {"sensitive": ["sex", "age"]}
#: Cases whose page is stored, too.
PAGES = {"hiring", "one_list", "unknown_5", "stages", "against", "unpaired", "profile_ugesp",
         "lists_2049"}  # fmt: skip


def stored(result, name):
    """Return what is stored of an audit: its JSON, its tables with NaN, its text and its page."""
    document = json.loads(result.to_json())
    found = {part: document[part] for part in ("schema_version", "facts", "verdict", "notes")}
    found["facts"].pop("library_version", None)
    for claim in document["claims"]:  # where a number of its sentence is in a table
        claim["cells"] = json.dumps(claim["cells"]).replace(f'"{claim["id"]}"', '"own"')
    found |= {"settings": document["provenance"]["settings"], "claims": document["claims"]}
    found |= {"findings": [claim.id for claim in result.findings], "tables": dict(result.tables)}
    found["tables"]["claims"] = summed(result.tables["claims"])  # whole in claims
    if name not in PAGES:  # texts about metrics, the same in every audit
        found["tables"]["methods"] = list(result.tables["methods"]["name"])
    found["text"] = repr(result).splitlines()
    if name in PAGES:
        found["page"] = page_text(result)
    return found


def page_text(result):
    """Return the sentences of a page, and all of its text, without version and date."""
    with tempfile.TemporaryDirectory() as folder:
        result.to_html(Path(folder, "page.html"))
        page = Path(folder, "page.html").read_text(encoding="utf-8")
    page = re.sub(r"(?s)<(script|style|svg)\b.*?</\1>", "", page)
    lines = (" ".join(line.split()) for line in re.sub(r"<[^>]*>", "\n", page).splitlines())
    lines = [line for line in lines if not re.search(r"equirank \d|\d{4}-\d\d-\d\d", line)]
    sentences = list(dict.fromkeys(line for line in lines if len(line.split()) > 4))
    return {"sentences": sentences, "all": "\n".join(line for line in lines if line)}


# The bundled data


def hiring():
    return audit(load_hiring(), protected="sex=female", title="hiring")


def hiring_file():
    return audit(
        hiring_path(), query="vacancy", score="score", relevance="suitability", sensitive="sex",
        k=[10, 20], **FEW,
    )  # fmt: skip


def hiring_metrics():
    metrics = "NDCG@10, RND@50, AWRF@20, Skew@10, FAStarIRTest@20, GroupPairwiseAccuracy"
    return audit(load_hiring(), protected="sex=female", metrics=metrics, cross=False, **FEW)


def hiring_gates():
    gates = ["sex=female selected at 10 < 0.8", "any age_group exposure < 0.8", "RND@50 > 0.3",
             "female positions > 3", "any finding", "raw: ExposureGap > 0.01"]  # fmt: skip
    result = audit(load_hiring(), gates=gates, k=10, cross=False, **FEW)
    return {"audit": result, "judged": result.judge(gates), "failures": result.failures(gates)}


def hiring_shown():
    shown = {"sex": {"female": "women", "male": "men"}}
    return audit(load_hiring(), shown=shown, protected={"sex": "female"}, level=0.9, **FEW)


def hiring_scored():
    return audit(load_hiring(), scored=True, cross=False, random_state=5, **FEW)


def hiring_without_draws():
    return audit(load_hiring(), n_boot=0, n_permutations=0)


# Sizes and attributes


def one_list():
    return audit(people(2, [120]), **NAMED, **BOTH, title="one list", **FEW)


def one_short_list():
    return audit(score=[8, 7, 6, 5, 4, 3, 2, 1], sensitive={"sex": list("mmmfmfff")}, **FEW)


def credit_one_list():
    return audit(credit(), **NAMED, **BOTH, cross=False, **FEW)


def credit_three_lists():
    return audit(credit(12, [340, 330, 330]), **NAMED, **BOTH, k=[20, 100], **FEW)


def one_attribute():
    return audit(people(3), **RANKED, **SEX)


def two_attributes():
    return audit(people(3), **NAMED, **BOTH, k=[3, 5, 10], **FEW)


def three_attributes():
    return audit(people(3), **NAMED, sensitive=["sex", "age", "race"], **FEW)


def three_attributes_uncrossed():
    return audit(people(3), **RANKED, sensitive=["sex", "age", "race"], cross=False, **FEW)


def small_groups():
    return audit(people(4, [15] * 12, few=0.012), **RANKED, sensitive="race", k=5, **FEW)


def groups_that_never_meet():
    made = people(5, [12] * 10)
    made["sex"] = np.where(np.arange(len(made["sex"])) < 60, "f", "m")
    return audit(made, **RANKED, **SEX, k=3, **FEW)


def uneven_lists():
    return audit(people(6, [3, 5, 8, 13, 21, 34, 55, 2, 1, 40] * 3), **NAMED, **BOTH, **FEW)


def no_effect():
    return audit(people(7, bias=0.0), **NAMED, **BOTH, cross=False, **FEW)


def ndcg_by_group():
    return audit(people(8), **NAMED, **BOTH, metrics=[NDCG() @ 10, RND(step=5) @ 20], **FEW)


# Order: ties, positions, draws


def ties():
    return audit(people(9, digits=-1), **NAMED, **BOTH, k=[5, 10], **FEW)


def ties_stable():
    return audit(people(9, digits=-1), **NAMED, **BOTH, k=[5, 10], ties="stable", **FEW)


def positions_given():
    made = positions(people(10))
    return audit(made, query="list", position="place", relevance="grade", **SEX, **FEW)


def positions_with_zero():
    made = positions(people(10), cut=8)
    return audit(made, query="list", position="place", relevance="grade", **SEX, k=5, **FEW)


def cut_lists():
    made = positions(people(10, [40] * 20), cut=10)
    return audit(some(made, made["place"] > 0), query="list", position="place", **SEX, **FEW)


def several_draws():
    return audit(drawn(people(11)), **FEW)


def weighted_draws():
    return audit(drawn(people(11), 3, weights=np.tile([0.5, 0.3, 0.2], (30, 1))), k=5, **FEW)


def draws_with_ties():
    data = as_data(people(11, digits=0), ("sex", "age"))
    scores = np.stack([data.score, np.round(data.score / 4)], axis=1)
    return audit(Ranking.from_scores(data, scores), cross=False, **FEW)


# Unknown, probable and verified labels


def unknown_5():
    return audit(people(13, unknown=0.05), **NAMED, **BOTH, cross=False, **FEW)


def unknown_30():
    return audit(people(13, unknown=0.3), **RANKED, sensitive="race", k=5, **FEW)


def unknown_crossed():
    return audit(people(14, [12] * 20, unknown=0.1), **RANKED, **BOTH, k=4, **FEW)


def unknown_one_list():
    return audit(people(15, [150], unknown=0.07), **RANKED, **SEX, **FEW)


def unknown_decisions():
    made = people(16, unknown=0.15)
    return audit(made, query="list", selected="hired", sensitive="race", **FEW)


def unknown_metrics():
    made = people(13, [15] * 16, unknown=0.1)
    return audit(made, **NAMED, **SEX, metrics="RND(step=5), AWRF@5, RecallGap@5", **FEW)


def probabilities():
    return audit(probable(), **RANKED, sensitive="race", k=5, **FEW)


def probabilities_one_list():
    return audit(probable(22, [200]), **RANKED, sensitive="race", k=20, **FEW)


def verified():
    return audit(probable(23, verified=True), **RANKED, sensitive="race", k=5, **FEW)


def verified_and_errors():
    made = probable(24, verified=True)
    error = LabelError([[0.9, 0.1], [0.1, 0.9]])
    given = {name: made[name] for name in ("race", "race[true]")}
    data = as_ranking_data(
        score=made["points"], qid=made["list"], sensitive_features=given, checked_rate=0.35,
        missing_sensitive="unknown",
    )  # fmt: skip
    labels = np.where(made["race"] == None, "b", made["race"])  # noqa: E711
    other = as_ranking_data(
        score=made["points"], qid=made["list"], sensitive_features={"race": labels},
        label_error={"race": error},
    )  # fmt: skip
    return {"verified": audit(data, **FEW), "errors": audit(other, **FEW)}


# Decisions and references


def selected():
    return audit(people(17), query="list", selected="hired", **BOTH, **FEW)


def selected_and_scores():
    return audit(people(17), **NAMED, selected="hired", **SEX, **FEW)


def selected_in_part():
    made = people(17)
    made["hired"] = np.where(np.arange(len(made["hired"])) % 9 == 0, "", made["hired"])
    return audit(made, query="list", selected="hired", sensitive="race", reference="race=a", **FEW)


def selected_by_words():
    made = people(17)
    return audit(made, query="list", selected="outcome", yes=["hired", "declined"], **SEX, **FEW)


def stages():
    return audit(people(18), query="list", stages=["invited", "hired"], **BOTH, cross=False, **FEW)


def stages_and_scores():
    return audit(people(18), **NAMED, stages=["invited", "hired"], **SEX, **FEW)


def quota():
    return audit(people(19, [8, 12, 30, 22] * 6), **RANKED, quota="openings", **BOTH, **FEW)


def cutoff():
    return audit(people(19), **RANKED, cutoff="points>=52", **BOTH, **FEW)


def cutoff_of_another_column():
    return audit(people(19), **RANKED, cutoff="test>=5", **SEX, **FEW)


def reference():
    return audit(people(20), **NAMED, sensitive="race", reference="race=a", k=5, **FEW)


def two_references():
    told = {"reference": ["sex=m", "race=a"], "protected": ["sex=f", "race=d"]}
    return audit(people(20), **RANKED, sensitive=["sex", "race"], **told, k=5, **FEW)


# Second rankings and other lists


def against():
    made = people(25)
    before = made | {"points": made["before"]}
    return audit(made, **NAMED, **BOTH, id="person", against=before, k=5, **FEW)


def against_cut():
    made = people(25)
    before = as_data(made | {"points": made["before"]}, ids=made["person"])
    place = positions(made, cut=6)["place"]
    after = Ranking.from_positions(as_data(made, ids=made["person"]), place)
    return audit(after, against=before, k=4, against_title="last year", **FEW)


def against_and_unknown():
    made = people(26, [12] * 15, unknown=0.1)
    before = made | {"points": made["before"]}
    return audit(made, **RANKED, **SEX, id="person", against=before, k=4, **FEW)


def unpaired():
    later, before = people(27), people(28, [18] * 26, bias=0.1, start=500)
    return audit(later, **NAMED, **BOTH, unpaired=before, unpaired_title="2024", k=5, **FEW)


def unpaired_decisions():
    later, before = people(27, [40] * 6), people(28, [50] * 5, bias=0.2)
    return audit(
        later, query="list", selected="hired", **SEX, unpaired=before, lists_differ=True, **FEW
    )


# Gates and profiles


def gates_of_decisions():
    gates = ["any race selected vs a < 0.8", "sex=f selected < 0.9", "any finding"]
    given = {"query": "list", "selected": "hired", "sensitive": ["sex", "race"], "cross": False}
    result = audit(people(29, [60] * 20), **given, gates=gates, **FEW)
    return {"audit": result, "judged": result.judge(gates)}


def profile_ll144():
    made = people(30, [400])
    return audit(made, **RANKED, **BOTH, k=100, profile="nyc-ll144", **FEW)


def profile_small():
    given = {"sensitive": ["race"], "profile": "nyc-ll144", "leave_out_small": True, "k": 100}
    return audit(people(30, [600], few=0.01), **RANKED, **given, **FEW)


def profile_ugesp():
    made = people(31, [300])
    return audit(made, query="list", selected="hired", sensitive=["sex", "race"],
                 profile="ugesp", reference="race=a", **FEW)  # fmt: skip


def profile_credit():
    return audit(credit(13), **NAMED, **BOTH, k=200, profile="credit", **FEW)


def profile_eu():
    return audit(people(32), **NAMED, **BOTH, k=5, profile="eu-ai-act", **FEW)


# People who recur


def recurring():
    made = people(33, [15] * 30, recurring=200)
    return audit(made, **RANKED, **BOTH, id="person", k=5, cross=False, **FEW)


def recurring_few():
    made = people(33, [15] * 30, recurring=30000)
    return audit(made, **NAMED, **SEX, id="person", k=5, **FEW)


def recurring_and_unknown():
    made = people(34, [10] * 20, recurring=60, unknown=0.1)
    return audit(made, **RANKED, **SEX, id="person", k=3, **FEW)


# Many lists, and engines


def lists_2047():
    return audit(people(35, [5] * 2047), **NAMED, **SEX, k=2, **FEW)


def lists_2049():
    return audit(people(35, [5] * 2049), **NAMED, **BOTH, k=2, **FEW)


def lists_2049_unknown():
    return audit(people(36, [4] * 2049, unknown=0.05), **RANKED, **SEX, k=2, **FEW)


def lists_2049_decisions():
    return audit(people(36, [6] * 2049), query="list", stages=["invited", "hired"], **SEX, **FEW)


def lists_2049_against():
    made = people(37, [5] * 2049)
    before = made | {"points": made["before"]}
    return audit(made, **RANKED, **SEX, id="person", against=before, scored=True, k=2, **FEW)


def lists_2049_unpaired():
    later, before = people(37, [5] * 2049), people(38, [4] * 2100, bias=0.3, start=5000)
    return audit(later, **RANKED, **SEX, unpaired=before, k=2, **FEW)


def lists_20000():
    made = people(39, [3, 5, 7, 9] * 5000)
    result = audit(made, **NAMED, sensitive="race", metrics="RND(step=2)", k=3, **FEW)
    return result


def parquet_contiguous():
    return audit_sums(list_sums(_parquet(people(40, [5] * 2100)), **NAMED, **SEX, k=2), **FEW)


def parquet_scattered():
    made = scattered(people(40, [5] * 2100))
    return audit_sums(list_sums(_parquet(made), **NAMED, **SEX, k=2), **FEW)


def duckdb_table():
    import duckdb
    import pandas as pd

    with duckdb.connect() as connection:
        relation = connection.from_df(pd.DataFrame(scattered(people(40, [5] * 2100))))
        return audit_sums(list_sums(relation, **NAMED, **SEX, k=2), **FEW)


def dask_frame():
    import dask
    import dask.dataframe as dd
    import pandas as pd

    frame = pd.DataFrame(scattered(people(40, [5] * 2100)))
    with dask.config.set(scheduler="synchronous"):
        return dask_audit(dd.from_pandas(frame, npartitions=3), **NAMED, **SEX, k=2, **FEW)


def sums_added_and_read():
    made = people(41, [6] * 2200)
    first = made["list"] < "v01100"
    options = {"k": 3, "metrics": "RND(step=2)", "reference": "sex=m"}
    one = list_sums(some(made, first), **NAMED, **BOTH, **options)
    both = one + list_sums(some(made, ~first), **NAMED, **BOTH, like=one)
    with tempfile.TemporaryDirectory() as folder:
        both.save(Path(folder, "sums"))
        again = ListSums.load(Path(folder, "sums"))
    return audit_sums(again, metrics="RND(step=2)", **FEW)


def sums_unpaired():
    one = list_sums(people(42, [6] * 60), **RANKED, **SEX, k=2)
    other = list_sums(people(43, [6] * 50, bias=0.0, start=900), **RANKED, **SEX, like=one)
    return audit_sums(one, unpaired=other, unpaired_title="before", **FEW)


def _parquet(columns):
    """Return the path of a file of several row groups, in the folder of the case."""
    import pandas as pd

    path = Path("lists.parquet").absolute()
    pd.DataFrame(columns).to_parquet(path, row_group_size=1500)
    return path
