"""The bundled data: made as it says, and holding what it says."""

import re

import numpy as np
import pytest

from equirank import RankingData, evaluate
from equirank.datasets import hiring_path, load_hiring


def test_the_file_is_made_by_the_lines_beside_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (hiring_path().parent / "README.md").read_text(encoding="utf-8")
    (lines,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(compile(lines, "README.md", "exec"), {})
    assert (tmp_path / "hiring.csv").read_bytes() == hiring_path().read_bytes()


def test_data():
    data = load_hiring()
    assert isinstance(data, RankingData)
    assert data.n_queries == 60
    sizes = np.diff(data.offsets)
    assert sizes.min() >= 30
    assert sizes.max() <= 80
    assert set(data.y.tolist()) == {0, 1, 2, 3}
    assert data.sensitive["sex"].categories == ("female", "male")
    assert data.sensitive["age_group"].categories == ("35 to 49", "50 and over", "under 35")
    assert len(set(data.ids.tolist())) == len(data)
    assert data.rows is None


def test_planted_bias_is_there_and_only_where_it_was_planted():
    data = load_hiring()
    women = data.sensitive["sex"].codes == 0
    design = np.column_stack([data.X, women, np.ones(len(data))])
    found = np.linalg.lstsq(design, data.score, rcond=None)[0]
    assert found[4] == pytest.approx(-6, abs=1)
    assert data.y[women].mean() == pytest.approx(data.y[~women].mean(), abs=0.1)


@pytest.mark.slow
def test_every_vacancy_can_be_evaluated():
    result = evaluate(load_hiring(), ["NDCG@10", 'ExposureGap(by="sex")'], n_boot=0)
    assert not result.notes
    assert 0.5 < result["NDCG@10"] < 1


@pytest.mark.slow
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frame(library, monkeypatch):
    pytest.importorskip(library)
    monkeypatch.setattr("equirank.core.table.BACKENDS", (library,))
    frame = load_hiring(as_frame=True)
    assert type(frame).__module__.startswith(library)
    assert frame.shape == (len(load_hiring()), 10)
    assert [float(str(value)) for value in frame["score"]] == load_hiring().score.tolist()
