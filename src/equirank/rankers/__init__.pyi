"""The public list of this room."""

from .lambdamart.fair_lambdamart import FairLambdaMART as FairLambdaMART
from .lambdamart.lambdamart import LambdaMART as LambdaMART
