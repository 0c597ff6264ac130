"""What the studies share: verdicts, files, options."""

import json
import math

import numpy as np
import pytest
from scipy import stats

from .studies import ROOT, VERDICTS, load


@pytest.fixture(scope="module")
def v():
    return load(".", "verdicts.py")


@pytest.mark.parametrize("n", [2, 3, 7, 16, 17, 40])
def test_intervals_are_students(v, n):
    values = np.random.default_rng(n).normal(size=n)
    mean, half = v.interval([*values, math.nan])
    low, high = stats.t.interval(0.95, n - 1, values.mean(), values.std(ddof=1) / math.sqrt(n))
    assert mean == pytest.approx(values.mean())
    assert half == pytest.approx((high - low) / 2, rel=5e-3)


def test_one_value_has_no_interval(v):
    assert v.interval([3.0])[0] == 3.0
    assert math.isnan(v.interval([3.0])[1])
    assert v.written([0.5]) == "0.500"
    assert v.written([0.4, 0.6], 1) == "0.5 ± 1.3"


def test_figures(v):
    near, far = [0.50, 0.51, 0.49], [0.70, 0.71, 0.69]
    assert v.figure(near, 0.51, 0.02) == "confirmed"
    assert v.figure(far, 0.51, 0.02) == "contradicted"
    assert v.figure([0.3, 0.9], 0.51, 0.02) == "not confirmed"
    assert v.figure([0.7], 0.51, 0.02) == "not confirmed"  # one seed rules nothing out
    assert v.figure([0.7], 0.51, 0.02, exact=True) == "contradicted"


def test_orderings(v):
    assert v.ordering([0.1, 0.2, 0.15]) == "confirmed"
    assert v.ordering([-0.1, -0.2, -0.15]) == "contradicted"
    assert v.ordering([-0.1, 0.2, 0.15]) == "not confirmed"
    assert v.ordering([0.1]) == "not confirmed"
    assert v.ordering([0.0, 0.0, 0.0]) == "not confirmed"


def test_joint_verdicts(v):
    yes, no, open_ = "confirmed", "contradicted", "not confirmed"
    assert v.altogether([yes, yes]) == yes
    assert v.altogether([yes, open_]) == open_
    assert v.altogether([open_, no, yes]) == no
    assert v.counted([yes, yes, no]) == "2 of 3 confirmed, 1 contradicted"


def test_one_reading_confirms_and_only_all_contradict(v):
    yes, no, open_ = "confirmed", "contradicted", "not confirmed"
    assert v.by_any_reading([no, yes]) == yes
    assert v.by_any_reading([no, open_]) == open_
    assert v.by_any_reading([no, no]) == no


@pytest.mark.slow
def test_a_stored_run_is_shown_without_running(v, tmp_path, capsys):
    load("theory").main(["--stored", "--out", str(tmp_path)])
    shown = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert shown["verdicts"] == v.stored(load("theory").STUDY)["verdicts"]
    assert capsys.readouterr().out.count("\n") == len(shown["verdicts"]) + 2


def test_a_stored_run_takes_no_options_of_a_run(tmp_path, capsys):
    with pytest.raises(SystemExit):
        load("theory").main(["--stored", "--seeds", "3", "--out", str(tmp_path)])
    assert "--stored takes --out only" in capsys.readouterr().err


def test_a_study_without_a_stored_run_says_so(v, tmp_path):
    study = v.Study(str(tmp_path / "run.py"), "", {}, None, None, 1)
    with pytest.raises(SystemExit, match=r"no full run of .* is kept"):
        v.stored(study)


def test_a_stand_in_confirms_nothing(v):
    row = v.claim("a", 1, 2, "confirmed", "why")
    taken = v.on_stand_in(row, "sample")
    assert (taken["verdict"], taken["note"]) == (
        "not testable here",
        "sample: there confirmed; why",
    )
    assert v.on_stand_in(row, "sample", seen=False)["note"] == "sample; why"
    assert v.on_stand_in(taken, "other") == taken
    with pytest.raises(ValueError, match="verdict must be one of"):
        v.claim("a", 1, 2, "maybe")


def study_of(v, folder, parts, needs_data=False):
    script = folder / "demo" / "run.py"
    script.parent.mkdir(exist_ok=True)
    (script.parent / "expected.toml").write_text("x = 1", encoding="utf-8")

    def verdicts(found, expected):
        return [
            v.claim(part, expected["x"], len(t["rows"]), "confirmed") for part, t in found.items()
        ]

    return v.Study(str(script), "doc", parts, verdicts, lambda found: {}, 3, needs_data)


@pytest.mark.slow
def test_parts_are_kept_and_merged(v, tmp_path, capsys):
    parts = {"one": lambda given: {"rows": [{"value": np.float64(2.0), "odd": math.inf}]},
             "two": lambda given: {"rows": [{"seed": s} for s in range(given.seeds)]}}  # fmt: skip
    study = study_of(v, tmp_path, parts)
    out = tmp_path / "out"
    v.main(study, ["--part", "one", "--out", str(out)])
    results = v.main(study, ["--part", "two", "--out", str(out), "--seeds", "2"])
    assert [row["claim"] for row in results["verdicts"]] == ["one", "two"]
    assert results["parts"]["one"]["tables"]["rows"] == [{"value": 2.0, "odd": None}]
    assert len(results["parts"]["two"]["tables"]["rows"]) == 2
    assert (out / "rows.csv").read_text().splitlines()[0] == "part,value,odd,seed"
    before = (out / "table.md").read_text()
    (out / "table.md").unlink()
    assert v.main(study, ["--draw", str(out)]) == results
    assert (out / "table.md").read_text() == before
    assert "| two | 1 | 2 | confirmed |" in capsys.readouterr().out
    quick = v.main(study, ["--quick", "--part", "two", "--out", str(out)])
    assert list(quick["parts"]) == ["two"]  # results on synthetic data are not mixed with others


def test_a_quick_run_tests_no_claim_on_real_data(v, tmp_path):
    study = study_of(v, tmp_path, {"one": lambda given: {"rows": []}}, needs_data=True)
    results = v.main(study, ["--quick", "--out", str(tmp_path / "out")])
    assert [(r["verdict"], r["note"]) for r in results["verdicts"]] == [
        ("not testable here", "synthetic data")
    ]


def test_missing_plots_skip_the_pictures(v, tmp_path, capsys):
    def pictures(found):
        raise ModuleNotFoundError("No module named 'altair'", name="altair")

    study = study_of(v, tmp_path, {"one": lambda given: {"rows": [{"a": 1}]}})
    study = v.Study(study.file, study.doc, study.parts, study.verdicts, pictures, 1)
    out = tmp_path / "out"
    v.main(study, ["--out", str(out)])
    assert "no charts and page: No module named 'altair'" in capsys.readouterr().err
    assert json.loads((out / "results.json").read_text())["verdicts"]


@pytest.mark.parametrize("name", sorted(path.parent.name for path in ROOT.glob("*/run.py")))
def test_every_study_has_its_form(name):
    folder = ROOT / name
    assert (folder / "README.md").read_text(encoding="utf-8").startswith("# ")
    assert (folder / "expected.toml").is_file()
    lines = (folder / "run.py").read_text(encoding="utf-8").splitlines()
    assert len(lines) < 300
    private = ("core.", "kernels.", "._", "from equirank.auditing")
    imports = [line for line in lines if line.startswith(("from equirank", "import equirank"))]
    assert not [line for line in imports if any(word in line for word in private)]


def test_the_words_are_four(v):
    assert set(v.VERDICTS) == VERDICTS
