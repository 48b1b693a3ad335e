# Every target sets up what it needs: a .venv with the package and all of its extras.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.DEFAULT_GOAL := help
.PHONY: help setup demo test lowest docs browser bench fuzz lint clean

help:  ## what can be made
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/'

# The stamp makes a second call instant; it is stale when the dependencies change.
$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "howlearn needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

setup: $(STAMP)  ## install the package and everything it can use into .venv

demo: $(STAMP)  ## simulate learners, select their models, print and write the results to demo/
	$(BIN)/howlearn demo --out demo --fresh

test: lint browser  ## lint, types, import contract, doctests, tests
	$(BIN)/python -m pytest -n auto --dist worksteal

# Old versions warn of what has changed since, so that warnings are no errors here. All commands and
# the report: what uses libraries in most ways. LOWEST_TESTS=tests for everything.
LOWEST := .venv-lowest
LOWEST_TESTS ?= tests/cli tests/report
lowest: browser  ## the commands and the report with the lowest versions of all dependencies
	test -x $(LOWEST)/bin/python || $(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python tests/lowest.py > $(LOWEST)/lowest.txt
	HOWLEARN_COMPILED=0 $(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check \
	  -c $(LOWEST)/lowest.txt -e '.[all]' pytest pytest-xdist hypothesis playwright
	HOWLEARN_CACHE=$(CURDIR)/$(LOWEST)/cache $(LOWEST)/bin/python -m pytest -W default \
	  -n auto --dist worksteal $(LOWEST_TESTS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

docs: $(STAMP)  ## the site, in docs/_build/html; every example in it is run
	$(BIN)/python -m sphinx -W --keep-going -q -b html -d docs/_build/doctrees docs docs/_build/html
	@echo "docs/_build/html/index.html"

# The tests open the report in Debian's Chromium; where it cannot be had they are skipped.
browser:
	@{ command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null || \
	  { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && apt-get -qq update && \
	    apt-get -qq install --no-install-recommends -y chromium >/dev/null 2>&1; } || \
	  echo "for the tests in a browser, which are skipped: apt-get install chromium"

bench: $(STAMP)  ## time and memory, as ratios within one run
	$(BIN)/python -m benchmarks

fuzz: $(STAMP)  ## 100,000 mutated input files through the readers; FUZZ="--files 5000 --seed 2" for others
	$(BIN)/python -m fuzz $(FUZZ)

clean:  ## remove what make has made
	rm -rf .venv $(LOWEST) demo dist build src/howlearn/compiled.zip
