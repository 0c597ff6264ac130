import pandas as pd
import pytest

from equirank import DataError
from equirank.core.table import Table
from equirank.plots import before_after

COLUMNS = {
    "measure": ["leakage", "consistency", "gap"],
    "before": [0.3, 0.8, 0.1],
    "after": [0.1, 0.7, 0.1],
    "better": ["lower", "higher", "lower"],
}


@pytest.mark.parametrize("kind", [dict, Table, pd.DataFrame])
def test_better_and_worse_have_their_words(kind):
    spec = before_after(kind(COLUMNS)).to_dict()
    (values,) = spec["datasets"].values() if "datasets" in spec else [spec["data"]["values"]]
    assert [row["change"] for row in values] == ["better", "worse", "same"]
    assert values[0]["measure"] == "leakage (lower is better)"


@pytest.mark.gate
def test_it_can_be_drawn():
    import vl_convert

    assert "consistency" in vl_convert.vegalite_to_svg(before_after(COLUMNS).to_json())


def test_a_missing_column_is_named():
    with pytest.raises(DataError, match="'better'"):
        before_after({"measure": [], "before": [], "after": []})
