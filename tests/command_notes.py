"""What a command writes to standard error besides the notes on how its files were read."""

import re

NOTE = re.compile(r"equirank: note: [\w.-]+\.\w+: (?!the corrected)")


def without_notes(text):
    """Standard error without the notes on files."""
    return "".join(line for line in text.splitlines(keepends=True) if not NOTE.match(line))
