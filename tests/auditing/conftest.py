"""Audits that many tests look at, made once."""

import numpy as np
import pytest

from equirank import audit
from equirank.datasets import load_hiring, make_ranking


@pytest.fixture(scope="session")
def hiring():
    """The worked audit of the bundled data: many lists, relevance, two attributes."""
    return audit(load_hiring(), protected="sex=female", title="hiring.csv")


@pytest.fixture(scope="session")
def one_list():
    """The worked audit of one list without relevance: three groups and unknown labels."""
    data = make_ranking(
        n_queries=1,
        n_items=300,
        groups={"north": 0.3, "south": 0.6, "west": 0.1},
        score_bias={"north": 0.8},
        random_state=3,
    )
    region = np.array(data.attribute().categories, dtype=object)[data.attribute().codes]
    region[::25] = None
    return audit(score=data.score, sensitive={"region": region}, title="one list")
