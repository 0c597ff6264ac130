"""Several boosters of LightGBM as one: the trees of all, summed or averaged."""

import re
from collections.abc import Sequence

__all__ = ["averaged_text", "joined_text"]


#: Lines of a tree whose numbers are outputs, which scale with the tree.
_SCALED = re.compile(
    rb"^(leaf_value|internal_value|leaf_const|leaf_coeff|shrinkage)=(.*)$", re.MULTILINE
)


def averaged_text(texts: Sequence[str]) -> str:
    """Return the text of a booster whose output is the mean of those of these boosters."""
    return joined_text(texts, 1.0 / len(texts))


def joined_text(texts: Sequence[str], share: float = 1.0) -> str:
    """Return the text of a booster whose output is ``share`` times the sum of these boosters.

    Head and end are those of the first text: the boosters were grown on the same features.
    """
    blocks = [block for text in texts for block in _trees(text.encode("utf-8"))]
    scaled = [_scaled(block, number, share) for number, block in enumerate(blocks)]
    first = texts[0].encode("utf-8")
    begin, end = first.index(b"\n\nTree=0\n") + 2, first.index(b"\nend of trees\n") + 1
    sizes = b" ".join(str(len(block)).encode() for block in scaled)
    head = re.sub(rb"(?m)^tree_sizes=.*$", b"tree_sizes=" + sizes, first[:begin])
    return (head + b"".join(scaled) + first[end:]).decode("utf-8")


def _trees(text: bytes) -> list[bytes]:
    """Return the block of each tree."""
    found = re.search(rb"(?m)^tree_sizes=(.*)$", text)
    begin, blocks = text.index(b"\n\nTree=0\n") + 2, []
    for size in found[1].split() if found is not None else ():
        blocks.append(text[begin : begin + int(size)])
        begin += int(size)
    return blocks


def _scaled(block: bytes, number: int, share: float) -> bytes:
    """Return the block of a tree with another number and scaled outputs."""

    def scale(line: re.Match[bytes]) -> bytes:
        values = (repr(float(value) * share).encode() for value in line[2].split(b" ") if value)
        return line[1] + b"=" + b" ".join(values)

    block = re.sub(rb"^Tree=\d+", b"Tree=%d" % number, block)
    return block if share == 1.0 else _SCALED.sub(scale, block)
