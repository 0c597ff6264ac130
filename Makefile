# Everything one does with equirank, in one place. Needs Python 3.11 or newer with venv, and make.
# Another Python takes an environment of its own: make test PYTHON=python3.12 VENV=build/py312
PYTHON ?= python3
VENV ?= .venv
JOBS ?= 2
EXTRA ?= test
# The tests that make test leaves to the gate; make test-all runs every one.
SKIP ?= not gate
DEMO ?= build/demo
SECONDS ?= 60
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
BENCHES := $(filter-out benchmarks/_%,$(sort $(wildcard benchmarks/*.py)))

.DEFAULT_GOAL := help
.PHONY: help demo studio browser quick test test-all test-bare test-lowest lint types contract docs generate fuzz golden mutants package check bench clean

# pytest keeps the tests as bytecode; without it each process prepares all of them anew.
unexport PYTHONDONTWRITEBYTECODE

help:  ## list the targets
	@echo "equirank: make <target>"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' Makefile | expand -t 16

$(VENV)/.stamp-venv:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(None if v >= (3, 11) else "equirank needs Python 3.11 or newer, but $(PYTHON) is %d.%d; say which to use: make PYTHON=python3.11 ..." % v[:2])'
	@echo ">> making a virtual environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

# .stamp-base is the library alone; .stamp-test, .stamp-lint and so on add the extra of that name.
# A stamp is older than pyproject.toml exactly when the dependencies may have changed.
# Python compiles what it imports; to compile everything would take a minute and 170 MB more.
$(VENV)/.stamp-base: $(VENV)/.stamp-venv pyproject.toml constraints.txt
	@echo ">> installing equirank into $(VENV)"
	@$(PIP) install -qq --no-compile -c constraints.txt -e .
	@touch $@

$(VENV)/.stamp-%: $(VENV)/.stamp-venv pyproject.toml constraints.txt
	@echo ">> installing equirank and its extra '$*' into $(VENV)"
	@$(PIP) install -qq --no-compile -c constraints.txt $(LOWEST) -e ".[$*]"
	@touch $@

demo: $(VENV)/.stamp-report  ## audit a ranking of job applicants and say where the report is
	@mkdir -p $(DEMO)
	@echo ">> auditing the bundled hiring data, by sex and by age"
	@data="$$($(BIN)/python -c 'from equirank.datasets import hiring_path; print(hiring_path())')" && \
	$(BIN)/equirank audit "$$data" $(DEMO_OPTIONS) --out $(DEMO)/audit.html --json $(DEMO)/audit.json
	@echo ">> open the report in a browser: $(DEMO)/audit.html"
	@echo ">> the same as JSON: $(DEMO)/audit.json"

studio: $(VENV)/.stamp-studio  ## open the studio in a browser, on the bundled hiring data
	@data="$$($(BIN)/python -c 'from equirank.datasets import hiring_path; print(hiring_path())')" && \
	$(BIN)/equirank studio "$$data" $(ARGS)

DEMO_OPTIONS = --query vacancy --score score --relevance suitability --sensitive sex --sensitive age_group \
	--k 10,20

browser:  ## say how to get the Chromium that the tests of the page look for
	@echo "The tests of the audit page drive a Chromium; without one they are skipped, with a reason."
	@echo "  Debian, Ubuntu:  sudo apt-get install chromium"
	@echo "  Fedora:          sudo dnf install chromium"
	@echo "  macOS:           brew install --cask chromium"
	@echo "  anywhere:        $(BIN)/python -m playwright install chromium"
	@echo "One on PATH is found by itself; name any other with EQUIRANK_CHROMIUM=/path/to/chromium."

quick: $(VENV)/.stamp-test  ## run the tests that are not slow, in under a minute
	@echo ">> testing on $(JOBS) processes, without the slow tests and the docstrings"
	@$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal -m "not slow and not gate" tests $(ARGS)

test: $(VENV)/.stamp-$(EXTRA)  ## run the tests and the examples in the docstrings
	@echo ">> testing on $(JOBS) processes"
	@$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal -m "$(SKIP)" $(ARGS)

test-all:  ## run every test, with torch and all boosting libraries: what the gate runs
	@EQUIRANK_TESTS=all $(MAKE) --no-print-directory test EXTRA=test-all SKIP=

test-bare:  ## run the tests without any extra of the library, in build/bare
	@$(MAKE) --no-print-directory test EXTRA=test-bare SKIP= VENV=build/bare

test-lowest:  ## run the tests with the lowest versions that pyproject.toml allows, in build/lowest
	@mkdir -p build
	@$(PYTHON) .ci/lowest.py > build/lowest.txt
	@$(MAKE) --no-print-directory test EXTRA=test-all SKIP= VENV=build/lowest LOWEST="-c build/lowest.txt"

lint: $(VENV)/.stamp-lint  ## check style and formatting
	@echo ">> checking style"
	@$(BIN)/ruff check .
	@echo ">> checking formatting"
	@$(BIN)/ruff format --check .
	@echo ">> checking spelling"
	@$(BIN)/codespell

types: $(VENV)/.stamp-lint $(VENV)/.stamp-test  ## check types, strictly
	@echo ">> checking types"
	@$(BIN)/mypy

contract: $(VENV)/.stamp-lint  ## check that imports go one way
	@echo ">> checking that imports go one way"
	@$(BIN)/lint-imports --no-logo

docs: $(VENV)/.stamp-docs  ## build the documentation; a warning is an error
	@echo ">> building the documentation"
	@$(BIN)/python -m sphinx -W --keep-going -q -j auto -b html docs build/docs
	@$(BIN)/python .ci/links.py build/docs
	@$(BIN)/python .ci/browse.py build/docs
	@echo ">> open build/docs/index.html"

generate: $(VENV)/.stamp-test  ## write what follows from the classes: metric functions, method tables
	@echo ">> writing the signatures of the metric functions and the table of re-rankers"
	@$(BIN)/python docs/_ext/metric_stubs.py
	@$(BIN)/python docs/_ext/reranker_chooser.py

fuzz: $(VENV)/.stamp-test-all  ## attack readers, models, re-rankers and metrics for SECONDS=60
	@echo ">> attacking for $(SECONDS) seconds; a fault is written to tests/fuzz_cases"
	@$(BIN)/python -m fuzz --seconds $(SECONDS) --jobs $(JOBS) --summary build/fuzz.json $(ARGS)

golden: $(VENV)/.stamp-test  ## compare results of audits and other calls with the stored ones
	@PYTHONPATH=tests $(BIN)/python -m golden --jobs $(JOBS) $(ARGS)

mutants: $(VENV)/.stamp-test-all  ## plant breaks in a copy of the source and count those that the tests find
	@echo ">> planting breaks, one at a time; build/mutants.jsonl keeps the results"
	@$(BIN)/python .ci/mutants.py --jobs $(JOBS) $(ARGS)

package: $(VENV)/.stamp-release  ## build what a release publishes, in build/dist, and check it
	@echo ">> building the wheel and the source archive"
	@mkdir -p build && rm -rf build/dist
	@$(BIN)/python -m build --no-isolation --outdir build/dist . > build/package.log 2>&1 || { cat build/package.log; exit 1; }
	@$(BIN)/python -m twine check --strict build/dist/*

check: lint types contract test-all docs package  ## all that a change must pass

bench: $(VENV)/.stamp-bench  ## run benchmarks/*.py and list their ratios
	@mkdir -p build/bench
	@for file in $(BENCHES); do \
		echo ">> $$file"; \
		$(BIN)/python $$file > build/bench/$$(basename $$file .py).txt || failed="$$failed $$file"; \
		cat build/bench/$$(basename $$file .py).txt; \
	done; \
	if [ -n "$$failed" ]; then echo ">> failed:$$failed"; exit 1; fi
	@echo ">> all ratios (full output in build/bench)"
	@cd build/bench && grep -E '[0-9]x( |,|:|$$)' $(notdir $(BENCHES:.py=.txt)) /dev/null || echo "none"

clean:  ## remove what the other targets made
	@echo ">> removing $(VENV), build and caches"
	@rm -rf $(VENV) build dist docs/api docs/gallery docs/metrics docs/sg_execution_times.rst \
		.pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
