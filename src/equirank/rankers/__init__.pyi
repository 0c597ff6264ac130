"""The public list of this room."""

from .lambdamart.fair_lambdamart import FairLambdaMART as FairLambdaMART
from .lambdamart.lambdamart import LambdaMART as LambdaMART
from .lambdamart.mart import MART as MART
from .lambdamart.mcrank import McRank as McRank
from .lambdamart.tradeoff_path import TradeoffPath as TradeoffPath
