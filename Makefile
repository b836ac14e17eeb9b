# Two commands are enough: `make demo` and `make test`. Each sets up its own .venv first.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint docs clean

demo: .venv/.demo
	$(BIN)/brai demo -o demo
	@echo "Open demo/report.html in a browser."

test: .venv/.test lint
	$(BIN)/python -m pytest -n 2
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q tests/test_kernels.py tests/test_search_kernels.py tests/test_subset_kernels.py tests/test_chain_kernels.py tests/test_slicing.py

lint: .venv/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: .venv/.test
	$(BIN)/mkdocs build --strict

.venv/.demo: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

.venv/.test: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $@

clean:
	rm -rf .venv demo site .mypy_cache .ruff_cache .pytest_cache .hypothesis
