"""Public names of equirank.allocation."""

from .equity_of_attention import EquityOfAttention as EquityOfAttention
from .exposure_allocation import ExposureAllocation as ExposureAllocation
from .nash_allocation import NashAllocation as NashAllocation
from .user_item_policy import UserItemPolicy as UserItemPolicy
from .welfare import dominance as dominance
from .welfare import envy as envy
from .welfare import item_impact as item_impact
from .welfare import nash_welfare as nash_welfare
from .welfare import pareto_dominated as pareto_dominated
from .welfare import user_utility as user_utility
