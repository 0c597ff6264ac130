"""The public list: read by the interpreter, by type checkers and by the contract tests."""

from .dask_fair_lambdamart import DaskFairLambdaMART as DaskFairLambdaMART
from .frame_audit import dask_audit as dask_audit
from .frame_evaluation import dask_evaluate as dask_evaluate
