# Everything runs in .venv; `make help` lists the targets, PYTHON=… chooses the interpreter.
PYTHON ?= python3
MINUTES ?= 5
VENV := .venv
BIN := $(VENV)/bin
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help demo test check bench bench-peers fuzz clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

demo: compiler $(VENV)/installed-run ## tune four kernels on this machine and show what was found (6 minutes)
	@$(BIN)/python -m tilewright.demo

test: $(VENV)/installed-test ## install what tests need, run the whole suite
	@$(BIN)/python -m pytest

check: $(VENV)/installed-test ## style, types, import layers, sizes, generated pages
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python -m tools.check_sizes
	@$(BIN)/python -m tools.primitives_page --check
	@$(BIN)/python -m tools.features_page --check

bench: compiler $(VENV)/installed-run ## measure against the machine's peaks and numpy
	@$(BIN)/python -m benchmarks.run

bench-peers: compiler $(VENV)/installed-run ## beside the peers that are there (extra: peers), PEERS='--only W1 …'
	@$(BIN)/python -m benchmarks.peers $(PEERS)

fuzz: $(VENV)/installed-test ## random programs and schedules against the interpreter, MINUTES=5
	@$(BIN)/python -m tests.differential.fuzz --minutes $(MINUTES) --seed $$(date +%s)0000

clean: ## remove .venv, caches and what the demo wrote
	@rm -rf $(VENV) build dist *.egg-info tilewright-demo .pytest_cache .mypy_cache .ruff_cache \
		.hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: compiler
compiler:
	@command -v gcc >/dev/null || command -v clang >/dev/null || { \
		echo "make: no C compiler: install gcc or clang (Debian, Ubuntu: apt install gcc)" >&2; exit 1; }

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "make: $(PYTHON) is not Python 3.11 or newer: try make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		echo "make: $(PYTHON) -m venv failed (Debian, Ubuntu: apt install python3-venv)" >&2; exit 1; }

# Shows the name of each package as pip comes to it, and the end of pip's log if it fails.
define install
	@printf 'Installing into $(VENV):'
	@PYTHONUNBUFFERED=1 $(BIN)/python -m pip install --disable-pip-version-check -e '.[$(EXTRAS)]' \
		2>&1 | tee $(VENV)/install.log | while read -r word name _; do \
			name="$${name##*/}"; name="$${name%%[<>=;[]*}"; \
			case "$$word" in Collecting | Processing) printf ' %s' "$${name%%-[0-9]*}";; esac; \
		done; \
		[ "$${PIPESTATUS[0]}" = 0 ] || { echo; tail -n 20 $(VENV)/install.log >&2; exit 1; }
	@printf '\n'
	@touch $@
endef

$(VENV)/installed-run: EXTRAS := server,tuner
$(VENV)/installed-run: pyproject.toml | $(VENV)/bin/python
	$(install)

$(VENV)/installed-test: EXTRAS := server,tuner,opencl,test
$(VENV)/installed-test: pyproject.toml | $(VENV)/bin/python
	$(install)
