"""The attack of ``make fuzz``: its faults stay mended, and it finds the faults planted here."""

import json
import random
import re
import sys
from pathlib import Path

import pytest

from equirank import DataError, Reranker
from equirank.core.registry import metric_names, public_classes, public_names

ROOT = Path(__file__).parents[1]
CASES = sorted((ROOT / "tests" / "fuzz_cases").glob("*.json"))

sys.path.append(str(ROOT))

from fuzz import promises, reader_targets, reranker_targets  # noqa: E402
from fuzz.__main__ import main  # noqa: E402
from fuzz.mutation import mutated  # noqa: E402
from fuzz.target import Fault, Target, attack, read_case, shrink, write_case  # noqa: E402
from fuzz.workers import USUAL, Counts, targets_of  # noqa: E402


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_fault_found_once_stays_mended(path, tmp_path):
    name, case = read_case(path)
    found = targets_of(USUAL, [name])
    if not found:
        pytest.skip(f"{name} needs an extra that is not installed")
    (target,) = found
    _, fault = attack(target, case, tmp_path)
    assert fault is None, fault


def test_every_metric_and_reranker_is_attacked():
    names = {target.name for target in targets_of(USUAL, [])}
    assert set(metric_names()) <= names
    rerankers = set(public_classes(Reranker, ["equirank.rerankers"])) - {"Guaranteed"}
    rerankers -= {"UncertainMerit"}  # it needs draws of merit
    for table, file in (
        (reranker_targets.PARAMS, "PARAMS of fuzz/reranker_targets.py"),
        (promises.CHECKS, "CHECKS of fuzz/promises.py"),
    ):
        lacking, gone = rerankers - table.keys(), table.keys() - rerankers
        assert not lacking, f"add a line for {', '.join(sorted(lacking))} to {file}"
        assert not gone, f"remove {', '.join(sorted(gone))} from {file}: no public re-ranker"
    assert rerankers <= names


#: Readers that no target names.
NOT_ATTACKED = {
    "read_excel": "workbooks are opened by other libraries",
    "read_file": 'it calls the other readers; the target "table file" opens files as it does',
}


def test_every_reader_is_attacked():
    readers = {name for name in public_names("equirank.io") if name.startswith("read_")}
    text = Path(reader_targets.__file__).read_text("utf-8")
    named = {name for name in readers if re.search(rf"\b{name}\b", text)}
    lacking = sorted(readers - named - NOT_ATTACKED.keys())
    assert not lacking, f"add a target for {lacking} to TARGETS of fuzz/reader_targets.py"
    assert readers - named == NOT_ATTACKED.keys()


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in USUAL if kind != "models"])
def test_a_few_cases_of_each_target(kind, tmp_path):
    rng = random.Random(0)
    for target in targets_of([kind], []):
        for at in range(2):
            folder = tmp_path / f"{target.name} {at}"
            folder.mkdir()
            target.size(case := target.draw(rng))
            attack(target, case, folder)  # a fault is for make fuzz to find


def planted(run, draw=lambda rng: {"data": rng.randbytes(20)}):
    def smaller(case):
        yield {"data": case["data"][: len(case["data"]) // 2]}

    return Target("planted", "readers", draw, run, smaller=smaller)


def refuses(case, folder):
    raise DataError("input.csv, line 1: must be a number, got 'x'")


def is_silent(case, folder):
    raise DataError("")


def breaks(case, folder):
    raise KeyError("x")


def loses(case, folder):
    raise Fault("loss", "2 rows of 3")


@pytest.mark.parametrize(
    ("run", "kind"),
    [(refuses, None), (is_silent, "message"), (breaks, "traceback"), (loses, "loss")],
)
def test_what_is_a_fault(run, kind, tmp_path):
    accepted, fault = attack(planted(run), {"data": b""}, tmp_path)
    assert not accepted
    assert (None if fault is None else fault.kind) == kind


def test_a_fault_is_made_smaller_written_and_read(tmp_path):
    def run(case, folder):
        if case["data"]:
            raise KeyError("bytes")

    target = planted(run)
    case = {"data": b"\0\xff" * 10, "options": {"k": [1]}}
    _, fault = attack(target, case, tmp_path)
    assert len(shrink(target, case, fault, tmp_path)["data"]) == 1
    write_case(tmp_path / "case.json", fault, case)
    assert read_case(tmp_path / "case.json") == ("planted", case)


def test_an_error_that_names_no_file_is_a_fault(tmp_path):
    def check(path, data, options):
        raise DataError("must be a number")

    target = reader_targets.file_reader("x", "input.csv", lambda rng: (b"", {}), check)
    _, fault = attack(target, {"data": b"", "options": {}, "more": {}}, tmp_path)
    assert fault.kind == "unnamed"


def lists(draws, groups="aabb", k=None):
    rows = list(range(len(groups)))
    return promises.ListCase(
        rows, rows, draws, [1.0], [4.0, 3.0, 2.0, 1.0], {"sex": list(groups)}, {"sex": ["a", "b"]}
    )


def test_slow_promises_tell_right_from_wrong():
    assert promises.shares_hold(lists([[0, 2, 1, 3]]), {})
    assert not promises.shares_hold(lists([[0, 1, 2, 3]]), {})
    floor = {"phi": 0.5, "protected": "b"}
    assert promises.floor_holds(lists([[2, 0, 3, 1]]), floor)
    assert not promises.floor_holds(lists([[0, 2, 1, 3]]), floor)
    assert promises.rooney_holds(lists([[0, 2]]), {"protected": "b"})
    assert not promises.rooney_holds(lists([[0, 1]]), {"protected": "b"})
    assert not promises.prefixes_hold(lists([[0, 1, 2, 3]]), {"upper": {"a": [1, 1]}})
    assert not promises.selection_holds(lists([[0, 1]]), {"lower": {"b": 1}})
    test = {"p": 0.9, "protected": "b", "alpha": 0.5, "adjusted": False}
    assert promises.fa_star_ir_holds(lists([[2, 3]]), test)
    assert not promises.fa_star_ir_holds(lists([[0, 1]]), test)
    assert not promises.exposure_holds(lists([[0, 1, 2, 3]]), {})


def test_lost_and_repeated_rows_are_seen():
    each = lists([[0, 1, 2, 3]])
    places = [(1, 1), (2, 2), (3, 3), (4, 4)]
    assert promises.check_rows(each, None, [places]) == ""
    assert promises.check_rows(each, None, [[(1, 1), (2, 3), (2, 3), (4, 4)]]) == ""
    assert promises.check_rows(each, None, [[*places[:3], (0, 0)]]).startswith("loss")
    assert promises.check_rows(each, 3, [places]).startswith("duplicate")
    assert promises.check_rows(each, None, [[*places[:3], (3, 3)]]).startswith("duplicate")


def test_mutation_repeats_with_its_seed():
    data = b"qid,score\n1,2\n"
    assert mutated(random.Random(3), data) == mutated(random.Random(3), data)
    assert any(mutated(random.Random(seed), data) != data for seed in range(5))


def test_counts_add_up_over_runs(tmp_path, capsys):
    one = tmp_path / "one.json"
    one.write_text(
        '{"targets": {"csv": {"kind": "readers", "inputs": 3, "accepted": 2, "refused": 1, '
        '"faults": 0, "seconds": 1.5}}, "faults": []}'
    )
    both = tmp_path / "both.json"
    assert main(["--seconds", "0", "--add", str(one), str(one), "--summary", str(both)]) == 0
    assert "6" in capsys.readouterr().out.splitlines()[1].split()
    assert Counts("readers").faults == 0


@pytest.mark.gate
def test_a_worker_that_dies_or_hangs_is_a_fault_and_the_run_goes_on(tmp_path, capfd):
    found, summary = tmp_path / "cases", tmp_path / "summary.json"
    options = [
        "--only",
        "planted",
        "--seconds",
        "1000",
        "--faults",
        "3",
        "--seed",
        "0",
        "--limit",
        "4",
    ]
    assert main([*options, "--cases", str(found), "--summary", str(summary)]) == 1
    kinds = {json.loads(path.read_text())["fault"]["kind"] for path in found.iterdir()}
    assert kinds == {"crash", "hang", "loss"}
    counts = json.loads(summary.read_text())["targets"]
    assert counts["planted crash"]["faults"] >= 1
    assert counts["planted hang"]["faults"] >= 1
    assert "planted" in capfd.readouterr().err
