"""How the documentation is built: ``make docs``."""

import logging
import sys
from pathlib import Path

import equirank

# One line per index otherwise. A level would not do: the package sets its own when it is imported.
logging.getLogger("bm25s").addFilter(lambda record: record.levelno >= logging.WARNING)

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "equirank"
author = "The equirank developers"
copyright = "2026, the equirank developers"
release = version = equirank.__version__

extensions = [
    "sphinx.ext.autodoc",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "gallery_charts",
    "guide_links",
    "mathml",
    "metric_pages",
    "notebooks",
    "reference_pages",
]
exclude_patterns = ["_ext", "sg_execution_times.rst", "gallery/sg_execution_times.rst"]
smartquotes = False  # quotes in a docstring belong to code
default_role = "py:obj"  # `RankingData` in a docstring is a link

myst_enable_extensions = ["colon_fence", "dollarmath", "fieldlist"]
myst_heading_anchors = 3

autodoc_typehints = "none"  # the docstrings say it in words
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "image_scrapers": ("gallery_charts.thumbnail",),
    "reset_modules": (),
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
}

html_math_renderer = "mathml"
html_theme = "furo"
html_title = f"equirank {release}"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_show_sourcelink = False
html_search_scorer = str(Path(__file__).parent / "search_scorer.js")
