"""Text cells to numbers: columns of few different words, against one cell at a time."""

import numpy as np
import pytest

from equirank.io.number_cells import CellError, numbers_of

WORDS = ["0", "1", "-2.5", " 3 ", "", "NA", "TRUE", "false", "1e3", "1.234,5", "0,5", "1,234"]
BAD = ["x", "1_0", "1,2,3"]


def one_by_one(cells, decimal):
    """Convert each cell alone; return the numbers, or the first bad row and its text."""
    found = []
    for row, cell in enumerate(cells):
        try:
            found.append(numbers_of([cell], decimal)[0])
        except CellError as error:
            return row, error.got
    return found


@pytest.mark.parametrize("decimal", [None, "comma", "point"])
@pytest.mark.parametrize("different", [1, 3, 80, 400])
@pytest.mark.parametrize("n", [1, 51, 99, 100, 300])
def test_a_column_is_converted_as_one_cell_at_a_time(n, different, decimal):
    """Few or many words among the first cells, with and without ones that are no numbers."""
    rng = np.random.default_rng(n + different)
    words = [*WORDS, *(f"{k / 7:.4f}" for k in range(different))]
    bad = 0
    for some in (words[:3], words, words[len(WORDS) :], [*words, *BAD], [*words[:3], "x"]):
        cells = rng.choice(np.array(some, dtype=object), n).tolist()
        expected = one_by_one(cells, decimal)
        if isinstance(expected, tuple):
            bad += 1
            with pytest.raises(CellError) as caught:
                numbers_of(cells, decimal)
            assert (caught.value.row, caught.value.got) == expected
        else:
            values = numbers_of(cells, decimal)
            assert values.dtype == np.float64
            assert values.tobytes() == np.array(expected).tobytes()
    assert bad or n == 1


def test_words_that_appear_late_are_converted_too():
    """The first cells only suggest that there are few words."""
    late = [str(k) for k in range(200)]
    assert numbers_of(["7"] * 100 + late).tolist() == [7.0] * 100 + list(range(200))
    with pytest.raises(CellError) as caught:
        numbers_of(["7"] * 100 + [*late, "x", "7", "x"])
    assert caught.value.row == 300
