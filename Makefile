# Two commands are enough: `make demo` and `make test`. Each sets up its own .venv first.
ifeq ($(OS),Windows_NT)
PYTHON ?= python
BIN := .venv/Scripts
else
PYTHON ?= python3
BIN := .venv/bin
endif
PYTEST := $(BIN)/python -m pytest
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

.PHONY: demo test test-slow coverage lint ruff-check ruff-format mypy hooks docs dist check-dist clean

demo: .venv/.demo
	$(BIN)/brai demo -o demo
	@echo "Open demo/report.html in a browser."

test: .venv/.test lint
	$(PYTEST) -n 2 -m "not slow" --durations=25
	NUMBA_DISABLE_JIT=1 $(PYTEST) -n 2 -q -m kernels

test-slow: .venv/.test
	$(PYTEST) -n 2 -m slow --durations=25

# What the compiled functions do is seen only without the JIT.
coverage: .venv/.test
	$(PYTEST) -n 2 -q -m "not slow" --cov --cov-report=
	NUMBA_DISABLE_JIT=1 $(PYTEST) -n 2 -q -m kernels --cov --cov-append --cov-report=term --cov-report=html

lint: ruff-check ruff-format mypy

ruff-check: .venv/.test
	$(BIN)/ruff check .

ruff-format: .venv/.test
	$(BIN)/ruff format --check .

mypy: .venv/.test
	$(BIN)/mypy

hooks: .venv/.test
	$(BIN)/pre-commit install

docs: .venv/.test
	$(BIN)/mkdocs build --strict

# Wheel and sdist, made anew; then the wheel alone in an empty environment.
dist: .venv/.test
	rm -rf dist
	$(BIN)/python -m build

check-dist: dist
	$(BIN)/python .ci/check_dist.py dist

.venv/.demo: pyproject.toml
	$(PYTHON) -m venv .venv
	$(PIP) install --editable .
	touch $@

.venv/.test: pyproject.toml
	$(PYTHON) -m venv .venv
	$(PIP) install --editable '.[test]'
	touch $@

clean:
	rm -rf .venv demo site dist htmlcov .coverage* .mypy_cache .ruff_cache .pytest_cache .hypothesis
