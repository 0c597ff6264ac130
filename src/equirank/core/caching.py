"""The folder for what can be had again: downloads and tables that took long to compute."""

import os
import sys
from pathlib import Path

__all__ = ["cache_folder"]


def cache_folder() -> Path:
    """Give the cache folder: ``EQUIRANK_CACHE``, else the platform's place for caches."""
    given = os.environ.get("EQUIRANK_CACHE")
    if given:
        return Path(given)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local") / "equirank"
    if sys.platform == "darwin":
        return Path.home() / "Library/Caches/equirank"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "equirank"
