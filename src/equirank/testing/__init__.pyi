"""The public list of checks."""

from . import strategies as strategies
from .conformance import run_conformance as run_conformance
from .metric_checks import check_metric as check_metric
from .ranker_checks import check_ranker as check_ranker
from .ranker_checks import check_reranker as check_reranker
from .ranker_checks import expected_failed_checks as expected_failed_checks
from .ranker_checks import with_groups as with_groups
