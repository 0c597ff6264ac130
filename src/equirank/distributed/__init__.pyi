"""The public list: read by the interpreter, by type checkers and by the contract tests."""

from .dask_audit import dask_audit as dask_audit
from .dask_evaluate import dask_evaluate as dask_evaluate
from .dask_fair_lambdamart import DaskFairLambdaMART as DaskFairLambdaMART
