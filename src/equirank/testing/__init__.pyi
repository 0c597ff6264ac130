"""The public list of checks."""

from .metric_checks import check_metric as check_metric
