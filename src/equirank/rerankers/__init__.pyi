"""The public list of this room."""

from .explanation import Explanation as Explanation
from .exposure.birkhoff_decomposition import birkhoff_decomposition as birkhoff_decomposition
from .exposure.equity_of_attention import EquityOfAttention as EquityOfAttention
from .exposure.exposure_fair import ExposureFair as ExposureFair
from .exposure.exposure_optimal import ExposureOptimal as ExposureOptimal
from .exposure.nash_welfare import NashWelfare as NashWelfare
from .exposure.shared_exposure import SharedExposure as SharedExposure
from .prefix.det_cons import DetCons as DetCons
from .prefix.det_const_sort import DetConstSort as DetConstSort
from .prefix.det_greedy import DetGreedy as DetGreedy
from .prefix.det_relaxed import DetRelaxed as DetRelaxed
from .price import Price as Price
from .reranking import Reranking as Reranking
