"""Roles of columns, guessed from their names and contents."""

import csv
import random

import pytest

from equirank.io.column_roles import guess_columns
from equirank.io.table_file import TableFile


def guess_file(path):
    return guess_columns(TableFile(str(path), "csv"))


@pytest.fixture
def market(tmp_path):
    """Rows of a marketplace: string ids, text columns and missing values; and a writer."""
    rng = random.Random(0)
    rows = []
    for search in range(30):
        for place, item in enumerate(rng.sample(range(200), 8)):
            rows.append(
                {
                    "search_uuid": f"s-{search * 7919:05x}",
                    "search_text": f"find {search}",
                    "device": ["phone", "desktop"][search % 2],
                    "product_code": f"p{item:04d}",
                    "title": f"{rng.choice(['red', 'blue', ''])} thing {item} {search}",
                    "brand": rng.choice(["acme", "bolt", "", "core"]),
                    "seller_type": rng.choice(["own", "third party", "NA"]),
                    "seller_rating": rng.choice(["1", "2", "3", ""]),
                    "price": f"{rng.uniform(1, 99):.2f}",
                    "stock": str(rng.randrange(50)),
                    "warehouse_id": str(rng.randrange(12)),
                    "origin_group": f"o{search % 3}",
                    "label": str(int(place == 0)),
                }
            )
    path = tmp_path / "market.csv"

    def write(rows):
        with open(path, "w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
        return path

    return rows, write


def test_a_marketplace(market):
    rows, write = market
    random.Random(1).shuffle(rows)
    path = write(rows)
    guess = guess_file(path)
    assert (guess.query, guess.relevance, guess.by) == ("search_uuid", "label", "query")
    assert guess.id == "product_code"  # once in a list, again in others
    assert guess.sensitive == ("seller_type",)
    assert guess.features == (
        "device", "brand", "seller_rating", "price", "stock", "warehouse_id"
    )  # fmt: skip
    # one text per list, a text per row, and groups that do not vary inside lists
    assert guess.left == ("search_text", "title", "origin_group")
    assert guess.missing


def test_lists_are_found_by_their_rows_where_no_name_tells(market):
    rows, write = market
    renamed = [
        {
            "a" if name == "search_uuid" else name: cell
            for name, cell in row.items()
            if name[:8] != "search_t"
        }
        for row in rows
    ]
    assert guess_file(write(renamed)).query == "a"
    random.Random(1).shuffle(renamed)
    guess = guess_file(write(renamed))
    assert (guess.query, guess.by) == (None, "item")
    assert "a" in guess.features  # 30 texts: nothing tells them from categories


@pytest.mark.parametrize(
    ("name", "values", "query"),
    [
        ("query_no", [str(i // 3) for i in range(24)], True),
        ("QueryId", [f"{i // 3}.0" for i in range(24)], True),
        ("session", [f"2024-01-{1 + i // 12:02d}" for i in range(24)], True),
        ("jobKey", [str(9007199254740992 + i // 2) for i in range(24)], True),
        ("search", ["one"] * 24, False),
        ("search", [f"w{i}" for i in range(24)], False),
        ("search", [f"w{i // 3}" if i else "" for i in range(24)], False),
        ("searchlight", [f"{i * 7 % 5}" for i in range(24)], False),
        ("batch_id", [str(i // 4) for i in range(24)], True),
        ("year", [str(2000 + i // 4) for i in range(24)], False),
    ],
)
def test_a_query_column_has_any_type_and_2_to_half_as_many_values(tmp_path, name, values, query):
    path = tmp_path / "d.csv"
    rows = [f"{value},{at * 5 % 7},{at % 2}" for at, value in enumerate(values)]
    path.write_text(f"{name},x,label\n" + "\n".join(rows) + "\n")
    assert guess_file(path).query == (name if query else None)


@pytest.mark.gate
def test_guessing_of_many_columns(tmp_path):
    count = 12_000
    path = tmp_path / "wide.csv"
    cells = [str(j) if j % 3 else "x" for j in range(count)]
    path.write_text(",".join(f"c{j}" for j in range(count)) + "\n" + (",".join(cells) + "\n") * 2)
    guess = guess_file(path)
    assert (len(guess.features), len(guess.left)) == (count * 2 // 3, count // 3)


def of_columns(tmp_path, columns):
    """The guess for 24 rows in 6 lists, given the cells of further columns."""
    path = tmp_path / "d.csv"
    columns = {"query_no": [at // 4 for at in range(24)], **columns}
    rows = zip(*columns.values(), strict=True)
    path.write_text("\n".join(",".join(map(str, row)) for row in [columns, *rows]) + "\n")
    return guess_file(path)


def test_a_score_and_a_position_are_known_by_words_in_their_names(tmp_path):
    points, place = [f"{at * 7 % 24}.50" for at in range(24)], [at % 4 for at in range(24)]
    guess = of_columns(tmp_path, {"total_points": points, "final_rank": place})
    assert (guess.score, guess.position) == ("total_points", "final_rank")
    assert guess.reasons["total_points"] == "its name suggests it"
    assert guess.first["total_points"] == ("0.5", "7.5", "14.5")
    assert guess.labels["final_rank"] == dict.fromkeys("0123", 6)
    below = of_columns(tmp_path, {"final_rank": [at - 1 for at in place]})
    assert (below.score, below.position) == (None, None)  # no position is below 0
    two = of_columns(tmp_path, {"points": points, "user_rating": points[::-1]})
    assert (two.score, two.unclear) == (None, ("points", "user_rating"))
    assert two.reasons["points"] == "several columns could be the score"
    named = of_columns(tmp_path, {"score": points, "final_rank": place})
    assert (named.score, named.position) == ("score", None)
    ranked = of_columns(tmp_path, {"position": place, "points": points})
    assert (ranked.score, ranked.position, ranked.unclear) == (None, "position", ())


def test_what_a_column_may_be_and_what_it_contains(tmp_path):
    columns = {
        "level": [at % 3 for at in range(24)],
        "age": [20 + 2 * at for at in range(24)],
        "years": [40 + at for at in range(24)],
        "shop": [f"s{at // 4}" for at in range(24)],
        "name": [f"n{at}" for at in range(24)],
        "country": ["x"] * 24,
        "empty": [""] * 24,
        "note": [f"w{at * 5 % 7}" for at in range(24)],
    }
    guess = of_columns(tmp_path, columns)
    assert guess.unclear == ("level", "age")
    assert {name: guess.reasons[name] for name in columns} == {
        "level": "whole numbers 0 to 2: could be the recorded relevance, or something else",
        "age": "numbers 20 to 66: ages can be compared in bands",
        "years": "24 different numbers",
        "shop": "one value per list",
        "name": "every value occurs once",
        "country": "the same value everywhere",
        "empty": "no value",
        "note": "7 different texts",
    }
    assert guess.bands == {"age": (35, 50)}
    together = "6 different values, rows of one value follow each other"
    assert guess.reasons["query_no"] == together
    mixed = of_columns(tmp_path, {"query_no": [at % 6 for at in range(24)]})
    assert (mixed.query, mixed.reasons["query_no"]) == ("query_no", "6 different values")
    assert of_columns(tmp_path, {"age": columns["years"]}).bands == {"age": (50, 55)}
    assert (
        of_columns(tmp_path, {"label": columns["level"], "level": columns["level"]}).unclear == ()
    )
