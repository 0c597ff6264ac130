"""Programs with whole numbers: values, what is infeasible, a column twice in a row."""

import numpy as np
import pytest

from equirank.rerankers.integer_program import Program


def test_a_knapsack():
    program = Program()
    x = program.variables(4, whole=True)
    program.row(x, [5.0, 4.0, 3.0, 2.0], high=7.0)
    found = program.solve(x, [8.0, 6.0, 4.0, 3.0], time_limit=5.0)
    assert found.x.round().tolist() == [1, 0, 0, 1]
    assert (found.gap, found.infeasible) == (0.0, False)


def test_a_column_may_stand_twice_in_a_row():
    program = Program()
    x = program.variables(1, top=10.0)
    program.row([x[0], x[0]], [1.0, 1.0], high=6.0)
    assert program.solve(x, [1.0], time_limit=5.0).x == pytest.approx([3.0])


def test_what_is_infeasible_says_so():
    program = Program()
    x = program.variables(2)
    program.row(x, [1.0, 1.0], low=3.0)
    found = program.solve(x, [1.0, 1.0], time_limit=5.0)
    assert found.x is None
    assert found.infeasible
    assert np.isinf(found.gap)
