"""The public list: read by the interpreter, by type checkers and by the contract tests."""

__version__: str

from . import datasets as datasets
from . import distributed as distributed
from . import metrics as metrics
from . import plots as plots
from . import policies as policies
from . import preprocess as preprocess
from . import rankers as rankers
from . import rerankers as rerankers
from . import testing as testing
from . import theory as theory
from .auditing.audit import audit as audit
from .auditing.result import AuditResult as AuditResult
from .comparison.compare import compare as compare
from .comparison.result import Comparison as Comparison
from .core.data import RankingData as RankingData
from .core.data import as_ranking_data as as_ranking_data
from .core.errors import DataError as DataError
from .core.errors import EquirankWarning as EquirankWarning
from .core.errors import FormatError as FormatError
from .core.errors import InfeasibleError as InfeasibleError
from .core.errors import MissingExtraError as MissingExtraError
from .core.evaluate import evaluate as evaluate
from .core.evaluation import Evaluation as Evaluation
from .core.metric import Metric as Metric
from .core.pair_cost import PairCost as PairCost
from .core.pair_explanation import PairExplanation as PairExplanation
from .core.ranker import Ranker as Ranker
from .core.ranking import Ranking as Ranking
from .core.reranker import Reranker as Reranker
from .core.saving import load as load
from .core.splitting import QueryKFold as QueryKFold
from .core.splitting import query_train_test_split as query_train_test_split
from .datasets.delimited import read_csv as read_csv
from .datasets.letor import read_letor as read_letor
from .datasets.letor import write_letor as write_letor
from .datasets.pair_files import read_pairs as read_pairs
from .datasets.parquet import read_parquet as read_parquet
from .datasets.synthetic import make_fairness_probability as make_fairness_probability
from .datasets.synthetic import make_ranking as make_ranking
