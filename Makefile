# The commands of this repository; `make` alone prints them. Each target sets itself up.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
SCALE ?= 0.1
BEFORE ?= HEAD
WORKERS ?= auto
SPARK_WORKERS ?= 2
MINUTES ?= 5
JOBS ?= 2
WITHIN ?= 0
S3 ?=
ROOTS := accelerator cubes indexes rewrite
PRESENT := $(wildcard $(ROOTS) tests bench fuzz)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# Prints one sentence and stops where Java is missing or too old; JAVA_HOME wins, as for Spark.
define need_java
java="$${JAVA_HOME:+$$JAVA_HOME/bin/}java"; \
major="$$("$$java" -version 2>&1 | sed -nE '1,3s/.* version "(1\.)?([0-9]+).*/\2/p' | head -n 1)" || true; \
if [ "$${major:-0}" -lt 17 ]; then \
  echo "make $@ needs Java 17 or newer (found: $${major:-none}); on Debian or Ubuntu: apt-get install openjdk-17-jre-headless, on macOS: brew install openjdk@17, elsewhere: https://adoptium.net" >&2; \
  exit 1; \
fi
endef

.PHONY: help setup java format check lint types arrows unit served test test-long test-full mutants fuzz fuzz-bytes reach demo bench docs clean

help: ## print this list
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' Makefile | expand -t 20

setup: $(READY) ## make .venv with everything; does nothing when it's there

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(None if v >= (3, 11) else f"Python 3.11 or newer is needed, this is {v[0]}.{v[1]}; set PYTHON=, e.g. make setup PYTHON=python3.12")'
	@test -x $(BIN)/python || { echo "setup: making $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@echo "setup: installing the package and its tools into $(VENV), a few minutes the first time"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --progress-bar off -e '.[dev]'
	@touch $@
	@echo "setup: done"

java:
	@$(need_java)

format: $(READY) ## format the code and mend what ruff can mend
	@$(BIN)/ruff format $(PRESENT)
	@$(BIN)/ruff check --fix $(PRESENT)

lint: $(READY)
	@$(BIN)/ruff format --check $(PRESENT)
	@$(BIN)/ruff check $(PRESENT)

types: $(READY)
	@$(BIN)/mypy

arrows: $(READY)
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/deptry .

unit: $(READY)
	@$(BIN)/python -m pytest -m 'not spark and not slow and not served and not long' -n $(WORKERS) -q tests

served: $(READY)
	@$(BIN)/python -m pytest -m 'served and not spark and not slow and not long' -n $(WORKERS) --dist loadfile -q tests

check: export TESTS_EXAMPLES := 20
check: lint types arrows unit ## format, lint, types, import arrows and the tests without Java; two minutes at most

test: $(READY) ## check's tests and the Spark tests; under twenty minutes
	@$(need_java)
	@$(MAKE) --no-print-directory unit served
	@status=0; $(BIN)/python -m pytest -m 'spark and not slow and not long' -n $(SPARK_WORKERS) --dist loadfile --again -q --durations=40 tests || status=$$?; \
	  if [ $$status -ne 0 ] && [ $$status -ne 5 ]; then exit $$status; fi

test-long: $(READY) ## the tests that take over ten seconds each [WITHIN=900: those that begin in so many seconds]
	@$(need_java)
	@$(BIN)/python -m pytest -m 'long and not slow' -n $(SPARK_WORKERS) --dist loadfile --no-loadscope-reorder --within $(WITHIN) --again -q --durations=20 tests

test-full: $(READY) ## every test, the slow ones too, and all of Spark's answers made anew
	@$(need_java)
	@TESTS_FULL=1 TESTS_RECORDS_MODE=anew $(BIN)/python -m pytest -n $(SPARK_WORKERS) --dist loadfile \
	  -q --durations=60 tests

mutants: $(READY) ## plant each fault of tests/mutants alone: does a test notice? [JOBS=2]
	@$(need_java)
	@$(BIN)/python -m tests.mutants.run --jobs $(JOBS)

fuzz: $(READY) ## random statements over random tables and cubes, both ways [MINUTES=5]
	@$(need_java)
	@$(BIN)/python -m fuzz --minutes $(MINUTES)

fuzz-bytes: $(READY) ## every format that is read, damaged; nothing may fall over it [MINUTES=5]
	@$(BIN)/python -m fuzz.bytes --minutes $(MINUTES)

reach: $(READY) ## which statements were answered at a commit and aren't now [BEFORE=HEAD]
	@$(need_java)
	@$(BIN)/python -m bench reach --before $(BEFORE)

demo: $(READY) ## SSB from cubes, plain and accelerated, each answer compared [SCALE=0.1] [S3=1: on an S3 server]
	@$(need_java)
	@$(BIN)/python -m bench demo --scale $(SCALE) $(if $(S3),--s3)

bench: $(READY) ## the SSB figures into build/bench-ssb.json [SCALE=1 for the published ones]
	@$(need_java)
	@mkdir -p build
	@$(BIN)/python -m bench ssb --scale $(SCALE) --json build/bench-ssb.json

docs: $(READY) ## check that the docs match the code
	@$(BIN)/python -m pytest -q tests/house

clean: ## remove .venv, build/ and all caches
	@rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
