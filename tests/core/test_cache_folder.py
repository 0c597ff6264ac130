"""The folder of the cache on each platform."""

import sys
import tempfile
from pathlib import Path

from equirank.core.environment import cache_folder


def test_cache_folder(monkeypatch):
    monkeypatch.setenv("EQUIRANK_CACHE", "/somewhere")
    assert cache_folder() == Path("/somewhere")
    monkeypatch.delenv("EQUIRANK_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    monkeypatch.setenv("LOCALAPPDATA", "/local")
    monkeypatch.setenv("HOME", "/people/x")
    for platform, expected in {
        "linux": "/xdg/equirank",
        "win32": "/local/equirank",
        "darwin": "/people/x/Library/Caches/equirank",
    }.items():
        monkeypatch.setattr(sys, "platform", platform)
        assert cache_folder() == Path(expected)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path("/people/x/.cache/equirank")


def test_a_user_without_a_home(monkeypatch):
    def nowhere():
        raise RuntimeError("Could not determine home directory.")

    for name in ("EQUIRANK_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", nowhere)
    assert cache_folder().is_relative_to(tempfile.gettempdir())
