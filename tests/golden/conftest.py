"""pytest collects nothing in this folder: `make golden` runs it."""

collect_ignore_glob = ["*"]
