"""What a workspace remembers: recipes for undo and redo, and answers up to a number of bytes."""

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..recipes.recipe import Recipe

__all__ = ["AnswerCache", "History"]

#: Entries that undo and redo walk through.
MOST_UNDONE = 100


class History:
    """The present recipe, and those before and after it; a drag is one entry.

    Parameters
    ----------
    recipe : Recipe
        The first recipe.

    Examples
    --------
    >>> from equirank.recipes.recipe import Recipe
    >>> first = Recipe()
    >>> history = History(first)
    >>> for k in (5, 6, 7):
    ...     history.change(first.patched({"audit": {"k": [k]}}), drag="d1")
    >>> history.undo(), history.present == first
    (True, True)
    """

    def __init__(self, recipe: "Recipe") -> None:
        self.present = recipe
        self.past: list[Recipe] = []
        self.future: list[Recipe] = []
        self._drag: str | None = None

    def change(self, recipe: "Recipe", drag: str | None = None) -> None:
        """Make a recipe the present one; further changes of one drag replace it."""
        if recipe != self.present and (drag is None or drag != self._drag):
            self.past = [*self.past, self.present][-MOST_UNDONE:]
        self._drag = drag
        self.future = self.future if recipe == self.present else []
        self.present = recipe

    def undo(self) -> bool:
        """Return to the recipe before; False if there is none."""
        return self._walk(self.past, self.future)

    def redo(self) -> bool:
        """Return to the recipe that undo left; False if there is none."""
        return self._walk(self.future, self.past)

    def _walk(self, source: "list[Recipe]", target: "list[Recipe]") -> bool:
        self._drag = None
        if not source:
            return False
        target.append(self.present)
        self.present = source.pop()
        return True


class AnswerCache:
    """Answers by key, the least recently used dropped beyond a number of bytes.

    Parameters
    ----------
    most : int
        Bytes of all answers together; a larger answer is not kept.

    Examples
    --------
    >>> cache = AnswerCache(10)
    >>> cache.put("a", 1, 6)
    >>> cache.put("b", 2, 6)
    >>> cache.get("a"), cache.get("b"), cache.n_bytes
    (None, 2, 6)
    """

    def __init__(self, most: int) -> None:
        self.most, self.n_bytes = most, 0
        self._known: OrderedDict[str, tuple[Any, int]] = OrderedDict()

    def get(self, key: str) -> Any:
        """Return an answer, or None."""
        if key not in self._known:
            return None
        self._known.move_to_end(key)
        return self._known[key][0]

    def put(self, key: str, value: Any, size: int) -> None:
        """Keep an answer of so many bytes."""
        if key in self._known:
            self.n_bytes -= self._known.pop(key)[1]
        if size > self.most:
            return
        self._known[key] = (value, size)
        self.n_bytes += size
        while self.n_bytes > self.most:
            self.n_bytes -= self._known.popitem(last=False)[1][1]

    def clear(self) -> None:
        """Drop all answers."""
        self._known.clear()
        self.n_bytes = 0
