"""``equirank run``: byte for byte what the studio downloads."""

import numpy as np
import pytest
from typer.testing import CliRunner

from equirank.cli.app import app
from equirank.studio.workspace import Workspace

for package in ("altair", "jinja2", "vl_convert"):
    pytest.importorskip(package, reason=f"{package} is not installed")

REMEDY = {"method": "PrefixConstraints", "by": "sex", "k": 3, "lower": {"f": 0.5}}


def people():
    rng = np.random.default_rng(1)
    rows = [
        f"L{at},p{at}-{i},{'fm'[i % 2]},{rng.integers(0, 500) / 10},=x"
        for at in range(6)
        for i in range(8)
    ]
    return ("list,id,sex,score,note\n" + "\n".join(rows) + "\n").encode()


def run(*words):
    return CliRunner().invoke(app, ["run", *map(str, words)])


@pytest.fixture(scope="module")
def workspace():
    made = Workspace()
    state = made.load_file("people.csv", people())
    state = made.patch(state["revision"], {"audit": {"n_boot": 20, "date": "2026-11-16"}})
    state = made.patch(state["revision"], {"remedy": [REMEDY], "shown": {"sex=f": "women"}})
    state = made.patch(state["revision"], {"keep": True})
    for at, share in enumerate((0.25, 0.5)):
        made.try_remedy(state["revision"], at, {**REMEDY, "lower": {"f": share}})
    return made


@pytest.mark.gate
def test_a_run_writes_what_the_studio_downloads(workspace, tmp_path):
    (tmp_path / "people.csv").write_bytes(people())
    (tmp_path / "my.toml").write_bytes(workspace.download("recipe").content)
    out = tmp_path / "result"
    result = run(tmp_path / "my.toml", "--data", tmp_path / "people.csv", "--out", out)
    assert result.exit_code == 0, result.output
    wanted = [
        workspace.download("report", "given"),
        workspace.download("report"),
        workspace.download("numbers", "given"),
        workspace.download("numbers", "remedy"),
        workspace.download("list"),
        workspace.download("list", "kept-1"),
    ]
    assert sorted(each.name for each in wanted) == sorted(path.name for path in out.iterdir())
    for each in wanted:
        assert (out / each.name).read_bytes() == each.content, each.name
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "equirank run RECIPE --data people.csv" in page
    assert "2 settings were looked at" in page
    assert str(tmp_path) not in page


@pytest.mark.slow
def test_another_file_is_a_warning_and_a_bad_recipe_names_its_line(workspace, tmp_path):
    (tmp_path / "people.csv").write_bytes(people().replace(b"L0,", b"L9,"))
    recipe = workspace.download("recipe").content.replace(b"lower", b"lowest")
    (tmp_path / "bad.toml").write_bytes(recipe)
    bad = run(tmp_path / "bad.toml", "--data", tmp_path / "people.csv", "--out", tmp_path / "o")
    assert bad.exit_code == 2
    assert "line " in bad.output
    assert "lowest: is not a known key" in bad.output
    assert not (tmp_path / "o").exists()
    (tmp_path / "ok.toml").write_bytes(b'format = "equirank recipe"\n[data]\nsha256 = "0"\n'
                                       b'score = "score"\nsensitive = ["sex"]\n'
                                       b"[audit]\nn_boot = 10\n")  # fmt: skip
    told = run(tmp_path / "ok.toml", "--data", tmp_path / "people.csv", "--out", tmp_path / "o")
    assert told.exit_code == 0, told.output
    assert "is not the file that the recipe was made with" in told.output
    taken = run(
        tmp_path / "ok.toml", "--data", tmp_path / "people.csv", "--out", tmp_path / "ok.toml"
    )
    assert taken.exit_code == 2
