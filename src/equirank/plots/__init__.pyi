"""The public list of this room."""

from .before_after import before_after as before_after
from .causal_dag import causal_dag as causal_dag
from .fair_angles import fair_angles as fair_angles
