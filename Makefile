# Two commands are all a newcomer needs: `make mv2` and `make test`. CI runs both.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# Two more than the cores of a small machine: many tests wait for what other processes do, or for phones and leases.
WORKERS ?= 4

# Without compiling: most modules of these packages are never imported, and Python compiles the others once.
INSTALL = $(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt
# Where torch is taken from; empty: from where pip takes everything. On Linux PyTorch's index for the CPU, unless pip was
# told of an index or of local files.
SYSTEM := $(shell uname -s)
TORCH_INDEX ?= $(if $(filter Linux,$(SYSTEM)),$(if $(PIP_SOURCES),,https://download.pytorch.org/whl/cpu))
PIP_SOURCES = $(shell $(BIN)/python -m pip config list | grep -E "[.](index-url|extra-index-url|find-links|no-index)='[^']" | grep -v "='https://pypi.org/simple/*'")
REMEDY = remedy: reach that index or name another one that has torch for this Python and processor (make mv2 TORCH_INDEX=URL), or take PyPI's, with gigabytes of CUDA (make mv2 TORCH_INDEX=)

# Tests start hundreds of interpreters: without compiled modules each would compile the harness anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help mv2 test exhaustive check lint types typeshere typeswindows typesmac fast format schema benchmark system clean

help: ## List the targets
	@grep -hE '^[a-z0-9]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

mv2: $(VENV)/.run ## Set up, then measure MobileNetV2 on this machine
	@if [ ! -f $(VENV)/.light ]; then exec $(BIN)/harness -b specifications/models/mv2.json; fi; \
	$(BIN)/harness -b specifications/models/sort.json; \
	echo; echo "MobileNetV2 was not measured, only a program that needs no extra: $$(cat $(VENV)/.light)."; \
	echo "$(REMEDY)"; exit 3

test: system $(VENV)/.dev ## Set up, then run the tests: all but the exhaustive ones
	$(BIN)/pytest -n $(WORKERS) --dist loadgroup -m "not benchmark and not exhaustive" --instafail --durations 20

exhaustive: system typeswindows typesmac ## What is worth minutes before a release: other systems' types, and tests with more models, releases, faults and noise
	$(BIN)/pytest -n $(WORKERS) --dist loadgroup -m exhaustive --instafail --durations 20

check: $(VENV)/.dev ## Format, lint, types, layers and the fast tests, at the same time
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target fast lint types

lint: $(VENV)/.dev ## Format, lint and layers
	$(BIN)/ruff format --check -q .
	$(BIN)/ruff check -q .
	$(BIN)/lint-imports --no-logo > $(VENV)/lint-imports.log || { cat $(VENV)/lint-imports.log; exit 1; }

# The product for Windows and macOS too, without the stand-ins of phones, which are made for Linux. What is unreachable
# there is not asked, and each has a cache of its own: mypy would begin anew at every change of the system.
PRODUCT = $(filter-out harness.testing,$(patsubst harness/%/__init__.py,harness.%,$(wildcard harness/*/__init__.py)))
OTHER_SYSTEM = $(BIN)/mypy --no-warn-unreachable -m harness.__main__ -m harness.cli -m harness.plugins $(PRODUCT:%=-p %) -p platforms -p frameworks -p reporters

types: typeshere typeswindows typesmac ## Types, for this system, Windows and macOS

typeshere: $(VENV)/.dev
	$(BIN)/mypy

typeswindows: $(VENV)/.dev
	$(OTHER_SYSTEM) --platform win32 --cache-dir .mypy_cache/win32

typesmac: $(VENV)/.dev
	$(OTHER_SYSTEM) --platform darwin --cache-dir .mypy_cache/darwin

fast: $(VENV)/.dev ## The fast tests
	$(BIN)/pytest -q -n $(WORKERS) --dist loadgroup -m "not slow and not benchmark" --timeout 120

format: $(VENV)/.dev ## Format, and mend what can be mended
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

schema: $(VENV)/.run ## Write the JSON Schemas and the keyword arguments of `import harness` from the classes
	$(BIN)/python -m harness.specification.schema
	$(BIN)/python -m tests.api.names_file

benchmark: $(VENV)/.dev ## Measure the speed claims of the README, as ratios (minutes, on a quiet machine)
	$(BIN)/pytest -m benchmark -s --timeout 0 tests/benchmarks

$(VENV)/.venv:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "edge-harness needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	@touch $@

# Everything by the exact versions of the tested set. PyPI's torch for Linux needs CUDA, gigabytes of it; PyTorch's own
# index has one for the CPU. torchvision belongs to it; what both need comes from the usual index.
# Without them the rest works: .light has the reason then, and `make` tries again.
$(VENV)/.run: $(VENV)/.venv pyproject.toml constraints.txt
	@rm -f $(VENV)/.light
	@index="$(TORCH_INDEX)"; \
	if { [ -z "$$index" ] || $(INSTALL) --no-deps --index-url "$$index" torch torchvision; } && \
	   $(INSTALL) --editable '.[vision]'; then touch $@; else \
	  $(INSTALL) --editable . && \
	  echo "torch or ExecuTorch of constraints.txt cannot be installed on this machine$${index:+ from $$index} (see above)" > $(VENV)/.light; \
	fi

$(VENV)/.dev: $(VENV)/.run
	@if [ -f $(VENV)/.light ]; then cat $(VENV)/.light; echo "$(REMEDY)"; exit 1; fi
	$(INSTALL) --editable '.[dev]'
	@touch $@

# What pip cannot install, where we may install it. Tests say what they miss, and in CI missing parts fail.
system:
	@packages=""; \
	need() { command -v "$$1" > /dev/null || packages="$$packages $$2"; }; \
	need g++ g++; need cmake cmake; need make make; need taskset util-linux; need git git; need hg mercurial; need adb adb; \
	need zsh zsh; need fish fish; need chromium chromium; need ccache ccache; \
	need aarch64-linux-gnu-g++ "g++-aarch64-linux-gnu libc6-dev-arm64-cross"; \
	command -v ios > /dev/null || need npm npm; \
	[ "$$(uname -s)" != Linux ] || need perf linux-perf; \
	ls /usr/lib/postgresql/*/bin/postgres > /dev/null 2>&1 || need postgres postgresql; \
	if [ -z "$$packages" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	  apt-get update -qq && apt-get install -y -qq --no-install-recommends $$packages > /dev/null; \
	else echo "missing (tests that need them will skip; try: sudo apt install$$packages)"; fi

clean: ## Remove the environment and caches of tools
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build dist
