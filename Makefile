# Every command of the README. `make up` and `make test` set up what they need.
.DEFAULT_GOAL := help
SHELL := /bin/bash
VENV := .venv
PYTHON := $(VENV)/bin/python
STAMP := $(VENV)/.ready
DEV := $(VENV)/.ready-dev
CHROMIUM := /usr/bin/chromium
PORT ?=
COORDUI_STATE ?=
ONLY ?=
UV ?= uv
SCALE ?= 3
# A file's tests stay together: they share a cluster. More workers than cores, since most of them wait.
PARALLEL ?= -n 3 --dist loadfile
export COORDUI_STATE

.PHONY: help setup programs browser postgres elastic-blast up test test-browser test-long matrix mutants bench bench-gates bench-engine lint types screenshots lock clean

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*##/\1 -/p' $(MAKEFILE_LIST)

# The virtual environment is made anew only when a lock or the project's own table has changed.
$(STAMP): requirements.txt pyproject.toml scripts/setup.sh
	@scripts/setup.sh environment $(VENV) requirements.txt
	@touch $@

$(DEV): $(STAMP) requirements-dev.txt
	@scripts/setup.sh environment $(VENV) requirements-dev.txt
	@touch $@

setup: $(STAMP) programs  ## a virtual environment and BLAST+

programs:
	@scripts/setup.sh blast

browser:
	@scripts/setup.sh browser

# Where it cannot be installed, the tests that need it are skipped and say so.
postgres:
	@scripts/setup.sh postgres || true

# The real elastic-blast, for the tests of its contract; likewise.
elastic-blast: $(VENV)-elastic-blast/.ready

$(VENV)-elastic-blast/.ready: requirements-elastic-blast.txt
	@scripts/setup.sh elastic-blast $(VENV)-elastic-blast $< && touch $@ || true

up: setup  ## start everything and print the address to sign in: make up PORT=8000 COORDUI_STATE=DIR
	@exec $(PYTHON) manage.py up $(if $(PORT),--port $(PORT)) $(if $(ONLY),--only $(ONLY))

test: setup postgres elastic-blast $(DEV)  ## all tests, in two runs
	$(PYTHON) -m pytest $(PARALLEL) $(ARGS)
	@$(MAKE) --no-print-directory test-browser

test-browser: setup browser $(DEV)  ## the tests in a real browser
	$(PYTHON) -m pytest tests/browser $(ARGS)

test-long: setup postgres elastic-blast $(DEV)  ## the same tests with larger counts: make test-long SCALE=5
	SCALE=$(SCALE) $(PYTHON) -m pytest tests/story tests/gates tests/onebox tests/test_postgres.py tests/engine/test_killed.py \
		tests/engine/external/test_upstream.py --ignore tests/story/test_matrix.py --ignore tests/story/test_crowd.py \
		--timeout 1800 $(PARALLEL) $(ARGS)
	SCALE=$(SCALE) $(PYTHON) -m pytest tests/story/test_crowd.py
	@for pass in $$(seq $(SCALE)); do echo "the table of kills: pass $$pass of $(SCALE)"; \
		$(MAKE) --no-print-directory matrix || exit 1; done

# Alone, so that only what is killed is late; three rows at a time, since most of one is waiting.
matrix: setup postgres $(DEV)  ## kill every process at every phase of a search, once, and print the table
	SCALE=3 $(PYTHON) -m pytest tests/story/test_matrix.py -n 3 --dist load $(ARGS)

mutants: setup $(DEV)  ## take each rule of the gates away in a copy, and see that a test fails: make mutants ONLY=S7
	$(PYTHON) -m tests.mutations $(ONLY)

bench: setup $(DEV)  ## how fast it is on this machine
	$(PYTHON) -m tests.bench

bench-gates: setup $(DEV)  ## the gates' numbers beside a v1 polling loop: make bench-gates ARGS=--once-for-real
	$(PYTHON) -m tests.bench.gates $(ARGS)

bench-engine: setup $(DEV)  ## 500 proteins against 20,000 by the engine, beside BLAST+ alone
	@scripts/setup.sh examples
	$(PYTHON) -m tests.bench.engine

lint: $(DEV)  ## style, format and layers
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/lint-imports

types: $(DEV)  ## mypy --strict
	$(VENV)/bin/mypy

screenshots: setup browser $(DEV)  ## the README's pictures, from the running product
	$(PYTHON) -m tests.browser.screenshots docs/pictures

# The lock names packages and hashes, never where they came from. --universal: one lock for every Python from 3.11.
LOCK := $(UV) pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-emit-find-links --no-annotate --custom-compile-command "make lock" --quiet
lock:  ## pin anew what pyproject.toml asks for (needs uv)
	$(LOCK) --extra build --extra embedded --extra postgres pyproject.toml -o requirements.txt
	$(LOCK) --extra build --extra embedded --extra postgres --extra s3 --extra azure --extra gcs pyproject.toml \
		-c requirements.txt -o requirements-objects.txt
	$(LOCK) --extra build --extra embedded --extra postgres --extra dev pyproject.toml -c requirements-objects.txt -o requirements-dev.txt

clean:  ## remove what is made, but not what is kept in ./var
	rm -rf $(VENV) build *.egg-info .mypy_cache .ruff_cache .import_linter_cache
