"""The public list of this room."""

from .pictures.tradeoff import tradeoff as tradeoff
from .saving import save_chart as save_chart
