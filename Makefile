# `make reproduce` and `make test` set up everything they need in .venv; nothing outside this folder is touched.

PYTHON ?= python3
BIN := .venv/bin
# Modules are compiled when they are first imported, which for most of them is never.
INSTALL := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --constraint constraints.txt --editable

.PHONY: reproduce test test-slow test-sb3 test-bsuite test-installed dist lint check bench readme docs docs-links clean

reproduce: .venv/.installed
	$(BIN)/dorax reproduce

test: lint check
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow and not sb3 and not installed"

test-slow: .venv/.developing
	$(BIN)/pytest -n 2 -m "slow and not sb3 and not installed"

test-sb3: .venv/.sb3
	$(BIN)/pytest -n 2 -m sb3

test-bsuite: .venv/.bsuite
	$(BIN)/pytest -n 2 -m bsuite

# Builds the wheel and installs it into fresh environments of Python 3.11, 3.12 and 3.13, as far as they are there.
test-installed: .venv/.releasing
	$(BIN)/pytest -m installed

# What is uploaded: a wheel and a source distribution, in out/dist.
dist: .venv/.releasing
	rm -rf out/dist
	$(BIN)/python -m build --outdir out/dist
	$(BIN)/twine check --strict out/dist/*

lint: .venv/.developing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

check: .venv/.developing
	$(BIN)/pyright --pythonpath $(BIN)/python

bench: .venv/.installed
	$(BIN)/dorax bench

readme: .venv/.installed
	$(BIN)/dorax report --publish

# Warnings are errors, and so are links and anchors that lead nowhere. Links to elsewhere need a network.
docs: .venv/.documenting
	$(BIN)/python -m sphinx -q -b html -W --keep-going -n -E -d out/doctrees docs out/docs

docs-links: .venv/.documenting
	$(BIN)/python -m sphinx -q -b linkcheck -W --keep-going -E -d out/doctrees docs out/docs-links

clean:
	rm -rf .venv out

# What running needs, and what testing needs beyond it.
.venv/.made:
	$(PYTHON) -c 'import sys; sys.exit("dorax needs Python 3.11 or newer, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv
	touch $@

.venv/.installed: .venv/.made pyproject.toml constraints.txt
	$(INSTALL) '.[paper]'
	touch $@

.venv/.developing: .venv/.made pyproject.toml constraints.txt
	$(INSTALL) '.[dev]'
	touch .venv/.installed $@

.venv/.documenting: .venv/.installed
	$(INSTALL) '.[docs]'
	touch $@

.venv/.releasing: .venv/.developing
	$(INSTALL) '.[dev,release]'
	touch $@

# Stable-Baselines3 brings PyTorch, a large download.
.venv/.sb3: .venv/.developing
	$(INSTALL) '.[dev,sb3]'
	touch $@

# bsuite brings 18 packages and 140 MB, most of them for its plots and images.
.venv/.bsuite: .venv/.developing
	$(INSTALL) '.[dev,bsuite]'
	touch $@
