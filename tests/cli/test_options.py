"""Options of files and columns: declared once, alike in every command, and named as in Python."""

import inspect
import json

import pytest
import typer
from sample_workbook import xlsx
from typer.testing import CliRunner

from equirank import as_ranking_data
from equirank.cli import options
from equirank.cli.app import app
from equirank.cli.console import CommandError
from equirank.io import read_file

COMMANDS = typer.main.get_command(app).commands
READERS = ["audit", "evaluate", "rerank", "predict", "explain", "init"]
COLUMNS = ["query", "score", "position", "relevance", "sensitive", "cost", "ids", "max_groups"]
MESSY = "list;sex;race;points\n" + "".join(
    f"{at // 10};{('Female', 'male', 'female ', 'n/a')[at % 4]};{'xyz'[at % 3]};{at},5\n"
    for at in range(60)
)


@pytest.fixture
def messy(tmp_path):
    path = tmp_path / "messy.csv"
    path.write_text(MESSY)
    return path


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def words_of(param):
    return param.opts, param.help, param.metavar, param.default, param.nargs


@pytest.mark.parametrize("name", ["audit", "evaluate", "rerank"])
def test_shared_options_are_declared_alike(name):
    """Every option of files and columns has the same words and type in all commands."""
    shared = (options.Reading, options.Columns, options.Heading)
    known = {name for kind in shared for name in kind.__dataclass_fields__}
    known |= {*COLUMNS, "protected"}
    first = {p.name: words_of(p) for p in COMMANDS["audit"].params if p.name in known}
    for param in COMMANDS[name].params:
        if param.name in first:
            assert words_of(param) == first[param.name], param.name


def test_shared_options_take_the_place_of_their_parameter():
    def command(*, first: int, heading: options.Heading, last: int = 2) -> None:
        """Say something."""
        found.append((first, heading, last))

    found: list[tuple[int, options.Heading, int]] = []
    made = options.with_shared(command)
    names = ["first", "title", "purpose", "period", "author", "date", "last"]
    assert list(inspect.signature(made).parameters) == names == list(made.__annotations__)
    assert (made.__name__, made.__doc__) == ("command", "Say something.")
    values = dict.fromkeys(names) | {"first": 1, "title": "t", "last": 3}
    made(**values)
    assert found == [(1, options.Heading(title="t"), 3)]


@pytest.mark.parametrize("name", READERS)
def test_each_option_of_a_file_has_an_argument_of_the_same_name(name):
    arguments = inspect.signature(read_file).parameters
    for param in COMMANDS[name].params:
        if param.name in options.Reading.__dataclass_fields__ or param.name in COLUMNS:
            (word,) = [each for each in param.opts if each.startswith("--")]
            assert word.removeprefix("--").replace("-", "_") in arguments


def test_every_command_reads_a_messy_file(messy, tmp_path):
    words = ["--query", "list", "--score", "points", "--sensitive", "race"]
    for command in (["evaluate"], ["audit"], ["rerank", "--method", "DetGreedy", "--k", 5]):
        more = ["--n-boot", 0] if command[0] != "rerank" else []
        done = run(*command, messy, *words, *more)
        assert done.exit_code == 0, done.output
        assert "messy.csv: delimiter: semicolon (guessed: " in done.stderr
        assert "messy.csv: decimal: comma in 'points' (guessed: " in done.stderr
    done = run("init", tmp_path / "c.toml", "--data", messy)
    assert (done.exit_code, "semicolon (guessed" in done.stderr) == (0, True), done.output


def test_labels_are_reported(messy):
    done = run("audit", messy, "--query", "list", "--score", "points", "--sensitive", "sex",
               "--n-boot", 0)  # fmt: skip
    assert "messy.csv: sex: 'female ' (15 rows) became 'Female'" in done.stderr
    assert "messy.csv: sex: 'n/a' (15 rows) became unknown" in done.stderr
    kept = run("audit", messy, "--query", "list", "--score", "points", "--sensitive", "sex",
               "--n-boot", 0, "--keep-labels", "--json")  # fmt: skip
    assert kept.exit_code == 0, kept.output
    groups = json.loads(kept.stdout)["facts"]["attributes"][0]["groups"]
    assert {"Female", "female", "male", "n/a"} <= {group["name"] for group in groups}


def test_options_reach_the_reader(tmp_path):
    raw, names = "f 1\nm 2\nF 3\nx 4\n", "sex,score"
    path, labels = tmp_path / "raw.data", tmp_path / "map.toml"
    path.write_text(raw)
    labels.write_text('[sex]\nx = "m"\n')
    words = ["evaluate", path, "--sensitive", "sex", "--metrics", "ExposureGap", "--n-boot", 0]
    done = run(*words, "--columns", names, "--labels", labels)
    assert done.exit_code == 0, done.output
    assert "raw.data: sex: 'x' (1 row) became 'm'" in done.stderr
    assert "--columns must name the columns" in run(*words).stderr
    done = run(*words, "--columns", names, "--unknown", "x,y", "--missing-sensitive", "category")
    assert "raw.data: sex: 'x' (1 row) became unknown" in done.stderr
    done = run(*words, "--sheet", "a")
    assert (done.exit_code, "--sheet must be omitted for CSV" in done.stderr) == (2, True)


def test_the_map_is_never_overwritten(messy, tmp_path):
    labels = tmp_path / "map.json"
    labels.write_text("")
    words = ["--query", "list", "--score", "points", "--sensitive", "sex", "--labels", labels]
    done = run("audit", messy, *words, "--json", labels)
    assert done.exit_code == 2
    assert "--json must not be an input" in done.stderr


def test_a_workbook(tmp_path):
    pytest.importorskip("python_calamine")
    path = tmp_path / "people.xlsx"
    rows = [["qid", "sex", "score"], *([1, "fm"[at % 2], at] for at in range(12))]
    path.write_bytes(xlsx({"a": rows, "b": rows}))
    words = ["evaluate", path, "--sensitive", "sex", "--metrics", "ExposureGap", "--n-boot", 0]
    done = run(*words)
    assert (done.exit_code, "--sheet must name one of the sheets" in done.stderr) == (2, True)
    assert run(*words, "--sheet", "b").exit_code == 0
    out = tmp_path / "out.csv"
    done = run("rerank", path, "--sheet", "b", "--sensitive", "sex", "--method", "DetGreedy",
               "--out", out)  # fmt: skip
    assert done.exit_code == 0, done.output
    assert out.read_text().splitlines()[0] == "qid,sex,score,old_position,new_position"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protected", "code", "said"),
    [
        (["--protected", "race=x"], 0, "FA*IR test for 'x'"),
        (["--protected", "x"], 0, "FA*IR test for 'x'"),
        (["--protected", "race=x", "--by", "race"], 0, "FA*IR test for 'x'"),
        (["--protected", "f"], 2, "'sex' and 'team' both have the group 'f'"),
        (["--protected", "team=f"], 0, "FA*IR test for 'f'"),
        (["--protected", "race=x", "--protected", "sex=f"], 2, "must be of one attribute"),
        (["--protected", "q"], 2, "got 'q', which is no group of"),
        (["--protected", "race=q"], 2, "one of the groups"),
    ],
)
def test_protected_groups_are_named_as_in_an_audit(tmp_path, protected, code, said):
    path = tmp_path / "people.csv"
    rows = [f"{'xy'[at % 2]},{'fm'[at // 2 % 2]},{'fg'[at // 3 % 2]},{at}" for at in range(24)]
    path.write_text("race,sex,team,score\n" + "\n".join(rows) + "\n")
    words = ["--sensitive", "race", "--sensitive", "sex", "--sensitive", "team"]
    done = run("rerank", path, *words, "--p", 0.4, *protected)
    assert (done.exit_code, said in done.output) == (code, True), done.output
    if "--by" not in protected and len(protected) == 2 and protected[1] != "race=q":
        done = run("audit", path, *words, "--n-boot", 0, *protected)
        assert done.exit_code == code, done.output


def test_shares_are_named_alike(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("race,sex,score\n" + "".join(f"{'xy'[k % 2]},{'fm'[k // 2 % 2]},{k}\n"
                                                 for k in range(24)))  # fmt: skip
    words = ["rerank", path, "--sensitive", "race", "--sensitive", "sex", "--method", "DetGreedy"]
    done = run(*words, "--proportions", "race=x=0.5,race=y=0.5", "--k", 10)
    assert done.exit_code == 0, done.output
    assert (
        run(*words, "--by", "race", "--proportions", "x=0.5,y=0.5", "--k", 10).stdout == done.stdout
    )


def test_shown_names():
    assert options.shown_names(None) == {}
    assert options.shown_names(["age=18:25:young"]) == {"age": {"18:25": "young"}}
    for bad in ("female:women", "sex=female", "sex=:women", "=f:w"):
        with pytest.raises(CommandError, match="--shown must look like sex=female:women"):
            options.shown_names([bad])
    with pytest.raises(CommandError, match="once"):
        options.shown_names(["sex=f:women", "sex=f:ladies"])


def test_a_trained_model_reads_groups_in_another_case(tmp_path):
    from equirank.core.encoding import Unseen
    from equirank.recipes.data_columns import DataColumns
    from equirank.recipes.new_file import _known_groups

    columns = DataColumns("csv", None, "y", None, None, ("sex",), ("x",), {}, "onehot",
                          {"sex": ["Female", "male"]})  # fmt: skip
    data = as_ranking_data(qid=[1, 1], sensitive_features={"sex": ["female", "male"]})
    known = _known_groups(data, columns, Unseen()).attribute("sex")
    assert (known.categories, known.codes.tolist()) == (("Female", "male"), [0, 1])


CONFIG = """
[data]
path = "raw.data"
relevance = "y"
sensitive = "sex"
columns = ["q", "sex", "x", "y"]
query = "q"
file_encoding = "cp1252"
labels = "map.toml"

[[models]]
class = "RankBoost"
params = { n_estimators = 3 }
"""


@pytest.mark.slow
def test_a_configuration_and_a_prediction_read_alike(tmp_path):
    sexes = ("w\u00e4", "M", "m")
    rows = [f"{at // 6} {sexes[at % 3]} {at % 5},5 {at % 2}" for at in range(48)]
    (tmp_path / "raw.data").write_bytes("\n".join(rows).encode("cp1252"))
    (tmp_path / "map.toml").write_text('[sex]\n"w\u00e4" = "women"\n', encoding="utf-8")
    config, model, out = tmp_path / "c.toml", tmp_path / "model", tmp_path / "out.csv"
    config.write_text(CONFIG)
    done = run("train", config, "--out", model, "--n-boot", 0)
    assert done.exit_code == 0, done.output
    assert "raw.data: sex: 'w\u00e4' (16 rows) became 'women'" in done.stderr
    assert "raw.data: decimal: comma in 'x' (guessed: " in done.stderr
    words = ["--out", out, "--columns", "q,sex,x,y", "--encoding", "cp1252"]
    done = run("predict", model, tmp_path / "raw.data", *words)
    assert done.exit_code == 0, done.output
    assert len(out.read_text().splitlines()) == 49
    (tmp_path / "bare.csv").write_text("1,f,0.5,1\n1,m,0.25,0\n")
    done = run("predict", model, tmp_path / "bare.csv", "--out", out)
    assert (done.exit_code, "--columns must name" in done.stderr) == (2, True), done.output
    config.write_text(CONFIG.replace("cp1252", "utf-9"))
    done = run("train", config, "--out", model)
    assert "[data] file_encoding: must be the name of a text encoding" in done.stderr
    config.write_text(CONFIG.replace('"y"]', '"y", "z"]'))
    done = run("compare", config)
    assert "[data] delimiter must be named" in done.stderr, done.stderr


def test_an_example_configuration_keeps_how_the_file_is_read(tmp_path):
    import tomllib

    (tmp_path / "raw.data").write_text("".join(f"{k} {k % 2} {k % 3}\n" for k in range(20)))
    (tmp_path / "map.toml").write_text('[sex]\n0 = "f"\n')
    config = tmp_path / "c.toml"
    words = ["--columns", "id,sex,relevance", "--labels", tmp_path / "map.toml", "--keep-labels"]
    done = run("init", config, "--data", tmp_path / "raw.data", *words)
    assert done.exit_code == 0, done.output
    data = tomllib.loads(config.read_text())["data"]
    assert data["columns"] == ["id", "sex", "relevance"]
    assert (data["labels"], data["keep_labels"]) == ("map.toml", True)
    done = run("init", "--force", tmp_path / "d.toml", "--columns", "a")
    assert (done.exit_code, "must be omitted without --data" in done.stderr) == (2, True)
