"""The golden corpus: results of audits, evaluations, remedies and public examples.

``make golden`` computes all cases again and compares them with the stored results: numbers within
1e-9, p-values within 1e-12, texts exactly. It ends with 1 and the differences if there are any.

- ``make golden ARGS="-k one_list"`` compares a part: cases whose name contains the text. A case is
  ``audits/one_list``, ``remedies/two_goals`` or ``calls/metrics.NDCG``.
- ``make golden ARGS="--write"`` stores what is computed now, ``ARGS="--write -k one_list"`` a part.
  Only cases that differ are written, and a case that no longer exists is removed.

The rule: a stored value changes in a commit of its own, which names what changed it: the number of
the trial or the line of CHANGELOG. A rename changes no value: it is an entry of ``renames.toml``.

A long array is stored as sums with fixed weights, a long text as its sha256; `compare` describes
both. To see such a value itself, compute it with the old commit.
"""

import os
import sys

#: What every process is given: one thread, and one date.
SAME = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
SAME |= {"OMP_WAIT_POLICY": "passive", "SOURCE_DATE_EPOCH": "1767225600", "TZ": "UTC"}
SAME |= {"COLUMNS": "100", "NO_COLOR": "1"}


if __name__ == "__main__":
    os.environ.update(SAME)
    from .corpus import main

    sys.exit(main(sys.argv[1:], __doc__.splitlines()[0]))
