"""Users and items: who is seen by whom, and what it is worth to the items."""

import numpy as np

__all__ = ["item_envy", "item_impacts", "seen", "uniform_impacts"]

CELLS = 1 << 22


def seen(policy: np.ndarray, attention: np.ndarray) -> np.ndarray:
    """Give the attention of each user that each item expects (user x item)."""
    return policy @ attention


def item_impacts(relevance: np.ndarray, attention: np.ndarray) -> np.ndarray:
    """Give what the attention (user x item) is worth to each item."""
    return np.einsum("ui,ui->i", relevance, attention)


def uniform_impacts(relevance: np.ndarray, attention: np.ndarray) -> np.ndarray:
    """Give what each item would have if every place showed every item equally often."""
    return relevance.sum(axis=0) * (attention.sum() / relevance.shape[1])


def item_envy(relevance: np.ndarray, attention: np.ndarray) -> np.ndarray:
    """Give by how much each item would gain most from another's attention; 0 where from none's."""
    n_items = relevance.shape[1]
    envy = np.empty(n_items)
    step = max(1, CELLS // n_items)
    for at in range(0, n_items, step):
        some = np.arange(at, min(at + step, n_items))
        worth = relevance[:, some].T @ attention
        envy[some] = worth.max(axis=1) - worth[some - at, some]
    return envy
