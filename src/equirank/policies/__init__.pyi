"""The public list of this room."""

from .plackett_luce import PlackettLuce as PlackettLuce
from .policy import Mixture as Mixture
from .policy import Policy as Policy
