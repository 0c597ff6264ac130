"""What holds for all tests: one thread per process, examples of properties, missing packages.

A test or an example of a docstring that needs an optional package is skipped if the package is not
installed. All those tests are one line at the end of a run, which names the target that has them.
"""

import doctest
import gc
import importlib.util
import os
import re
from functools import cache
from pathlib import Path

import pytest
import typer.testing
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parent
# What failed tests saw and said: the pages of a browser, and commands (tests/*.py).
pytest_plugins = ("waiting", "chromium")

# Each core has a test process, so other threads wait; by default those of OpenMP do so in a loop.
# A test of several threads asks for them. Read when a library is loaded, also by child processes.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# A call builds the commands from the signatures of all of them, which takes longer than most calls.
typer.testing._get_command = cache(typer.testing._get_command)

# A gate that draws new examples each time fails for people who changed nothing. New ones are drawn
# by `make test ARGS="-m hypothesis --hypothesis-profile new"`.
# Neither depends on how fast a machine draws them.
untimed = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("same", derandomize=True, database=None, **untimed)
settings.register_profile("new", print_blob=True, **untimed)
settings.load_profile("same")

# The packages of the extras in pyproject.toml, by the names they are imported by.
OPTIONAL = {
    *("altair", "bm25s", "catboost", "cvxpy", "dask", "distributed", "jinja2", "lightgbm", "onnx"),
    *("onnxruntime", "pandas", "playwright", "polars", "pooch", "psutil", "pyarrow"),
    *("safetensors", "skops", "torch", "vl_convert", "xgboost"),
}


def installed(name):
    """Return whether a package is installed; a folder of that name on the path does not count."""
    spec = importlib.util.find_spec(name)
    return spec is not None and spec.origin is not None


# Looked up once: a test may hide a package, and its failures must not become skips.
MISSING = {name for name in OPTIONAL if not installed(name)}
#: The one line of all tests that are skipped for lack of a package.
LINE = f"make test-all installs {', '.join(sorted(MISSING))} and runs these tests too"
MESSAGE = re.compile(
    r"(?:No module named|could not import) '(\w+)"
    r"|(\w+)[\w.]* is not installed"
    r"|(pyarrow), and none is installed"
)


def message_of(error):
    """Return the message of the error that ended a test."""
    error = getattr(error, "failures", [error])[0]  # a docstring: its first failure
    if isinstance(error, doctest.DocTestFailure):
        return error.got
    if isinstance(error, doctest.UnexpectedException):
        error = error.exc_info[1]
    if isinstance(error, pytest.fail.Exception):  # pytest.warns replaces the error inside it
        error = error.__context__ or error
    return str(error)


def skip_if_missing(report, message):
    """Skip what failed, or word what was skipped, for lack of a package that is not installed."""
    names = ["".join(groups) for groups in MESSAGE.findall(message)]
    if any(name in MISSING for name in names):
        report.outcome = "skipped"
        report.longrepr = (__file__, None, f"Skipped: {LINE}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Skip a test that ends for lack of a package."""
    report = yield
    if MISSING and call.excinfo and not report.passed:
        skip_if_missing(report, message_of(call.excinfo.value))
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Skip a module that cannot be imported for lack of a package."""
    report = yield
    if MISSING and not report.passed:
        skip_if_missing(report, str(report.longrepr))
    return report


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path):
    """Look for examples in the docstrings of the library, and not in those of the tests."""
    found = yield
    library = ROOT / "src" in file_path.parents
    return [each for each in found if library or type(each) is pytest.Module]


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Keep the tests themselves out of garbage collection, whose cost is that of all objects."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
