"""The study of training on samples, in its quick form."""

import csv
import importlib.util
from pathlib import Path

import pytest

RUN = Path(__file__).parents[2] / "reproductions" / "sampling" / "run.py"


def test_quick_run_learns_from_every_sample(tmp_path, capsys):
    pytest.importorskip("altair")
    spec = importlib.util.spec_from_file_location("sampling_run", RUN)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    tables = module.main(["--quick", "--out", str(tmp_path)])
    assert all("it learns" in row["verdict"] for row in tables["quick"][2:])
    with open(tmp_path / "results.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["sampler"] for row in rows} == {"full", *module.SAMPLERS}
    untrained = {row["ndcg"] for row in rows if row["epoch"] == "0"}
    assert len(untrained) == 1  # the same start for all
    assert (tmp_path / "curves_quick.svg").read_text(encoding="utf-8").startswith("<svg")
    assert "untrained" in capsys.readouterr().out
