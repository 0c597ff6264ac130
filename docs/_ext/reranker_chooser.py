"""Write the chooser of re-rankers into docs/reranking.md, read off the classes.

Run: python docs/_ext/reranker_chooser.py
"""

from pathlib import Path

from equirank.rerankers.chooser import chooser

PAGE = Path(__file__).parents[1] / "reranking.md"
BEGIN, END = (
    "<!-- chooser: written by docs/_ext/reranker_chooser.py -->\n",
    "<!-- end of chooser -->\n",
)


def table() -> str:
    """Return the chooser as a table in Markdown."""
    heads = ("method", "guarantees", "needs", "costs")
    lines = [" | ".join(("", *heads, "")).strip(), "|" + " --- |" * len(heads)]
    for row in chooser():
        cells = (f"`{row['name']}`", row["guarantee"], row["needs"], row["cost"])
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def with_table(page: str) -> str:
    """Put the table between its two marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
