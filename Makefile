# Gradebook: what people run. Every target sets up .venv first, from the locked requirements.
#   make demo                        a month of graded traces, then the app
#   make demo ARGS=--no-dashboard    the same without the app
#   make test                        all tests; those that need Chromium are skipped where there is none
#   make check                       format, lint, types, import contracts and the quick tests, in under a minute
#   make bench | screens | lock      measure | a picture of every screen | compile requirements.lock anew
#   make picture                     the README's picture, from the graded demo in demo/

PYTHON ?= $(firstword $(shell for name in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$name; done))
BIN := .venv/bin
INSTALLED := .venv/.installed
ARGS ?=

.PHONY: setup demo test check lint quick bench screens picture lock

setup: $(INSTALLED)

$(INSTALLED): requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "Gradebook needs Python 3.11 or newer: install it, or name it with PYTHON=..."; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: setup
	$(BIN)/gradebook demo $(ARGS)

test: setup
	$(BIN)/python -m pytest -n auto $(ARGS)

check: lint quick

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The parts that start no process, server or store of their own: all others are left to `make test`.
QUICK := tests/grader/rules tests/grader/stats tests/grader/readers/test_corpus.py tests/grader/readers/test_assemble.py \
	tests/grader/readers/test_ids.py tests/grader/readers/test_times.py tests/grader/test_settings.py \
	tests/grader/judge/test_prompt.py tests/grader/judge/test_rubric.py tests/grader/pipeline/test_metrics.py \
	tests/grader/pipeline/test_sources.py tests/dashboard/test_views.py

quick: setup
	$(BIN)/python -m pytest -n auto -q -m "not slow and not browser" $(QUICK)

bench: setup
	$(BIN)/python -m bench $(ARGS)

screens: setup
	$(BIN)/python -m tests.browser.screens $(ARGS)

picture: setup
	$(BIN)/python -m tests.browser.picture $(ARGS)

lock: setup
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --all-extras --universal --python-version 3.11 --upgrade --quiet \
		--generate-hashes --no-emit-index-url --no-header -o requirements.lock
