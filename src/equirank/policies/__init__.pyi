"""The public list of this room."""

from .mixture import Mixture as Mixture
from .plackett_luce import PlackettLuce as PlackettLuce
from .policy import Policy as Policy
from .user_item_policy import UserItemPolicy as UserItemPolicy
