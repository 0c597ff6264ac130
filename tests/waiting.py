"""Tests wait for a state, never for a time; a test that fails tells what its commands said.

`conftest.py` loads it as a plugin of pytest.
"""

import subprocess
import time
from collections import deque

import pytest
import typer.testing

#: Seconds after which something hangs. It is no measure of speed: no test gets near it.
LIMIT = 300
#: What each of the last commands of the running test said: arguments, exit code, stdout, stderr.
COMMANDS: deque = deque(maxlen=4)


def until(holds):
    """Wait until a function returns something true, and return that."""
    end = time.monotonic() + LIMIT
    while not (found := holds()):
        assert time.monotonic() < end, f"after {LIMIT} seconds it does not hold"
        time.sleep(0.01)
    return found


def ended(thread):
    """Wait for the end of a thread."""
    thread.join(LIMIT)
    assert not thread.is_alive(), f"{thread.name} hangs"


def _remember(owner, name, told):
    """Have a method note what `told` finds in its owner, its arguments and its result."""
    method = getattr(owner, name)

    def noted(self, *given, **options):
        found = method(self, *given, **options)
        COMMANDS.append(told(self, given, found))
        return found

    setattr(owner, name, noted)


def pytest_configure():
    """Note what processes and commands say."""
    _remember(
        subprocess.Popen, "communicate", lambda process, _, out: (process.args, process, *out)
    )
    _remember(
        typer.testing.CliRunner, "invoke",
        lambda _, given, done: (given[1:2], done, done.stdout, done.stderr),
    )  # fmt: skip


def pytest_runtest_setup():
    """Forget the commands of the test before."""
    COMMANDS.clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """Add what the last commands said to the report of a failed test."""
    report = yield
    if report.failed:
        for command in COMMANDS:
            report.sections.append(("a command of this test", said(*command)))
    return report


def said(words, done, out, err):
    """Return arguments, exit code and the ends of both outputs of a command."""
    code = done.exit_code if hasattr(done, "exit_code") else done.returncode
    words, out, err = (
        text.decode(errors="replace") if isinstance(text, bytes) else str(text)
        for text in (words, out, err)
    )
    return f"{words[-1000:]} ended with {code}\nstdout: {out[-2000:]}\nstderr: {err[-2000:]}"
