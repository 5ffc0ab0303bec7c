# Everything starts here: `make help` lists the targets.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help install demo test test-all lint format bench docs clean

help:  ## lists the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "xlate needs Python 3.11 or newer: make PYTHON=python3.12 …")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	@touch $(READY)

install: $(READY)  ## creates .venv and installs xlate into it

demo: $(READY)  ## the whole path on the built-in corpus: prepare, train, translate, score
	$(BIN)/xlate demo

test: $(READY)  ## the fast tests, in minutes on 2 cores
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m "not slow" --durations=10

test-all: $(READY)  ## all tests, with the real corpora named by XLATE_DATA when they are there
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder --durations=20

lint: $(READY)  ## ruff and mypy
	$(BIN)/ruff check xlate tests benchmarks
	$(BIN)/ruff format --check xlate tests benchmarks
	$(BIN)/mypy

format: $(READY)  ## ruff format
	$(BIN)/ruff check --fix xlate tests benchmarks
	$(BIN)/ruff format xlate tests benchmarks

bench: $(READY)  ## every benchmark in benchmarks/, in its quick form
	@for file in benchmarks/bench_*.py; do echo "== $$file"; $(BIN)/python $$file --quick || exit 1; done

docs: $(READY)  ## the documentation as a site, in build/docs; a warning fails
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[docs]"
	$(BIN)/python -m sphinx --fail-on-warning --keep-going -b html docs build/docs
	@echo "build/docs/index.html"

clean:  ## removes what was built: the environment, caches, the demo's work and run
	rm -rf $(VENV) build/docs docs/reference .mypy_cache .ruff_cache .pytest_cache .hypothesis
	rm -rf work/demo work/demo-phrases work/demo-blocks runs/demo
	find xlate tests -name __pycache__ -type d -prune -exec rm -rf {} +
