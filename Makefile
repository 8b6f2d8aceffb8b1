# Four commands, the same for people and for CI: setup, lint, test, check. `make demo` shows the tool.
# `make check-all` is `make check` with the larger matrices, and keeps its log.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Every extra the tests need; `make bench` adds the peers it measures against.
EXTRAS := dev,neural,client,postgres,dask,service

# Real data, when it lies beside the checkout; tests that need it say so when it does not.
ifneq ($(wildcard ../shared/data),)
export ISINGLASS_DATA ?= $(abspath ../shared/data)
endif
# One BLAS thread per test process: two processes share the cores.
TEST_ENV := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1

.PHONY: help demo setup postgresql chromium lint style types docs test check check-all bench peers soak clean

help:
	@echo "make demo   three airlines release their flights, a miner finds the outliers"
	@echo "make test   the test suite"
	@echo "make setup  .venv with every extra but bench, and .venv/bin/isinglass"
	@echo "make lint   ruff, mypy, import-linter        make check  lint + docs + test"
	@echo "make docs   the pages as a site, in build/site; a warning is an error"
	@echo "make check-all  the larger matrices too; writes docs/check-all.log"
	@echo "make bench  the benchmarks                   make soak   long fault runs"
	@echo "make peers  environments of other tools, for python -m benchmarks.risk_peers"

# The base install alone: what `make demo` needs.
$(VENV)/.base: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "isinglass needs Python 3.11 or newer; set PYTHON=")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q -c constraints.txt -e .
	@touch $@

$(VENV)/.all: $(VENV)/.base
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[$(EXTRAS)]'
	@touch $@

# Beside the tests' packages, since the reference of public names imports them all.
$(VENV)/.docs: $(VENV)/.all
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[docs]'
	@touch $@

$(VENV)/.bench: $(VENV)/.all
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[bench]'
	@touch $@

# Kernels are compiled once, whenever they change, and kept on disk beside their sources.
$(VENV)/.kernels: $(VENV)/.all $(wildcard src/isinglass/kernels/*.py)
	$(TEST_ENV) $(BIN)/python -m tests.compile
	@touch $@

setup: $(VENV)/.kernels postgresql chromium

# The ledger's tests start a PostgreSQL server of their own, and say so where there is none. Only
# its programs are installed: no server is left running, and nothing happens where they are.
postgresql:
	@command -v pg_ctl > /dev/null || ls /usr/lib/postgresql/*/bin/pg_ctl > /dev/null 2>&1 || \
	if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	  echo "installing PostgreSQL for the ledger's tests"; \
	  mkdir -p /etc/postgresql-common; \
	  test -e /etc/postgresql-common/createcluster.conf || \
	    echo "create_main_cluster = false" > /etc/postgresql-common/createcluster.conf; \
	  install="timeout 300 apt-get install -y -qq --no-install-recommends postgresql"; \
	  export DEBIAN_FRONTEND=noninteractive; \
	  $$install > /dev/null 2>&1 || { timeout 120 apt-get update -qq && $$install; } > /dev/null 2>&1 || \
	    echo "PostgreSQL could not be installed; its tests will be skipped"; \
	fi

# The page that scores records is tested in a browser, and its tests say so where there is none.
chromium:
	@command -v chromium > /dev/null || command -v google-chrome > /dev/null || \
	command -v chromium-browser > /dev/null || \
	if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	  echo "installing Chromium for the tests of the page that scores records"; \
	  install="timeout 300 apt-get install -y -qq --no-install-recommends chromium"; \
	  export DEBIAN_FRONTEND=noninteractive; \
	  $$install > /dev/null 2>&1 || { timeout 120 apt-get update -qq && $$install; } > /dev/null 2>&1 || \
	    echo "Chromium could not be installed; its tests will be skipped"; \
	fi

demo: $(VENV)/.base
	$(BIN)/isinglass demo --out isinglass-demo

lint: style types

style: $(VENV)/.all
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.all
	$(BIN)/mypy
	$(BIN)/lint-imports

# NO_MKDOCS_2_WARNING silences an announcement of the theme's authors, which is no warning of ours.
docs: $(VENV)/.docs
	PATH=$(abspath $(BIN)):$$PATH NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "build/site/index.html"

# A file of tests stays on one process, so that what its tests share is made once; tests/conftest.py
# says which files begin.
PYTEST := $(TEST_ENV) $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -r s

test: $(VENV)/.kernels postgresql chromium
	$(PYTEST) --durations 10 -m "not matrix"

# Types and pages are checked beside the tests, whenever these wait, and shown below them.
check: style $(VENV)/.kernels $(VENV)/.docs postgresql chromium
	@nice $(MAKE) --no-print-directory types > $(VENV)/types.log 2>&1 & types=$$!; \
	nice $(MAKE) --no-print-directory docs > $(VENV)/docs.log 2>&1 & docs=$$!; \
	$(MAKE) --no-print-directory test; tests=$$?; \
	wait $$types; types=$$?; cat $(VENV)/types.log; \
	wait $$docs; docs=$$?; cat $(VENV)/docs.log; \
	test $$tests = 0 || echo "make check: the tests failed"; \
	test $$types = 0 || echo "make check: types or layers are wrong"; \
	test $$docs = 0 || echo "make check: the pages do not build without a warning"; \
	exit $$((tests | types | docs))

# The log is to be committed: it says what passed, when, and on which commit, and names no folder of
# the machine. So is the red team's
# table, made of what its tests left.
check-all: SHELL := bash
check-all: .SHELLFLAGS := -o pipefail -c
check-all: lint $(VENV)/.kernels postgresql chromium
	@changed=$$(git diff --quiet HEAD -- . ':!docs/check-all.log' || echo ", changed since"); \
	{ echo "make check-all, $$(date -u +%F), commit $$(git rev-parse --short HEAD)$$changed"; \
	rm -rf build/redteam; export ISINGLASS_REDTEAM=$(abspath build/redteam); \
	$(PYTEST) --dist loadgroup --durations 25 --disable-warnings --color no; } \
	  | sed -u 's|$(CURDIR)/||g' | tee docs/check-all.log
	ISINGLASS_REDTEAM=$(abspath build/redteam) $(BIN)/python -m tests.redteam.table docs/reference/redteam-table.md 2> /dev/null

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks.perturb
	$(BIN)/python -m benchmarks.radius
	$(BIN)/python -m benchmarks.randomization
	$(BIN)/python -m benchmarks.audit
	$(BIN)/python -m benchmarks.rotation
	$(BIN)/python -m benchmarks.start
	$(BIN)/python -m benchmarks.curator
	$(BIN)/python -m benchmarks.curator_timing
	$(BIN)/python -m benchmarks.outliers
	$(BIN)/python -m benchmarks.archive

# Other tools that measure a release's risk, each in an environment of its own, never beside ours.
peers: .venv-anonymeter/.made .venv-alc/.made

.venv-%/.made: benchmarks/risk_peers/%.txt
	$(PYTHON) -m venv .venv-$*
	.venv-$*/bin/python -m pip install -q -r $<
	@touch $@

# Long fault runs; each writes the log it wants committed.
soak: $(VENV)/.all postgresql
	$(BIN)/python -m benchmarks.soak_release
	$(BIN)/python -m benchmarks.soak_ledger
	$(BIN)/python -m benchmarks.soak_model

clean:
	rm -rf $(VENV) isinglass-demo .mypy_cache .ruff_cache .hypothesis
