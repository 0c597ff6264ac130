"""The public list: read by the interpreter, by type checkers and by the contract tests."""

__version__: str

from . import allocation as allocation
from . import constraints as constraints
from . import costs as costs
from . import datasets as datasets
from . import distributed as distributed
from . import io as io
from . import metrics as metrics
from . import plots as plots
from . import policies as policies
from . import preprocess as preprocess
from . import rankers as rankers
from . import rerankers as rerankers
from . import search as search
from . import testing as testing
from . import theory as theory
from .auditing.audit import audit as audit
from .auditing.audit_result import AuditResult as AuditResult
from .comparison.compare import compare as compare
from .comparison.comparison import Comparison as Comparison
from .core.data import RankingData as RankingData
from .core.data import as_ranking_data as as_ranking_data
from .core.errors import DataError as DataError
from .core.errors import EquirankWarning as EquirankWarning
from .core.errors import FairnessOverfitWarning as FairnessOverfitWarning
from .core.errors import FormatError as FormatError
from .core.errors import InfeasibleError as InfeasibleError
from .core.errors import MissingExtraError as MissingExtraError
from .core.errors import NoHeadroomWarning as NoHeadroomWarning
from .core.errors import OneListWarning as OneListWarning
from .core.evaluate import evaluate as evaluate
from .core.evaluation import Evaluation as Evaluation
from .core.metric import GroupMetric as GroupMetric
from .core.metric import Metric as Metric
from .core.metric import Values as Values
from .core.persistence import load as load
from .core.ranker import Ranker as Ranker
from .core.ranking import Ranking as Ranking
from .core.reranker import Reranker as Reranker
from .core.slots import Slots as Slots
from .core.splits import QueryKFold as QueryKFold
from .core.splits import query_train_test_split as query_train_test_split
from .core.table import Table as Table
from .reports.claims import Claim as Claim
