# `make reproduce` and `make test` set up everything they need in .venv; nothing outside this folder is touched.

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: reproduce test lint check bench readme clean

reproduce: $(STAMP)
	$(BIN)/dorax reproduce

test: lint check
	$(BIN)/pytest -n 2

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

check: $(STAMP)
	$(BIN)/pyright --pythonpath $(BIN)/python

bench: $(STAMP)
	$(BIN)/dorax bench

readme: $(STAMP)
	$(BIN)/dorax report --readme README.md

clean:
	rm -rf .venv out

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("dorax needs Python 3.11 or newer, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $(STAMP)
