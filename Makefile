# On a bare machine with python3 and make: `make demo` and `make test` create .venv, install everything and run.
# The second call is instant: the stamp is only older than pyproject.toml when the dependencies may have changed.

STAMP := .venv/installed
BIN   := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help install demo quick test check bench proofs clean

help:  ## this list
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' Makefile | expand -t 18

install: $(STAMP)  ## create .venv and install mace with everything optional

$(STAMP): pyproject.toml tools/python.sh
	@python=$$(sh tools/python.sh) && echo "Creating .venv with $$python" && "$$python" -m venv --clear .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[all,dev]'
	@touch $(STAMP)

demo: $(STAMP)  ## explain decisions of models trained on a small loan table
	@$(BIN)/mace demo

quick: $(STAMP)  ## the tests that take seconds
	@$(BIN)/python -m pytest -n 2 --dist worksteal -m 'not slow'

test: $(STAMP)  ## all tests, quick ones first
	@$(BIN)/python -m pytest -n 2 --dist worksteal

check: $(STAMP)  ## ruff and mypy, strict
	@$(BIN)/ruff check .
	@$(BIN)/mypy

bench: $(STAMP)  ## speed on this machine; prints a table, judges nothing
	@$(BIN)/python -m bench

proofs: $(STAMP)  ## the mechanised theorems (needs coqc; says so when it is absent)
	@if [ ! -e proofs/theory/Makefile ]; then echo 'proofs: there are no mechanised theorems yet'; \
	elif ! command -v coqc >/dev/null; then echo 'proofs: skipped, there is no coqc here (Debian: apt install coq)'; \
	else $(MAKE) -C proofs/theory; fi

clean:  ## remove .venv and everything that can be made again
	rm -rf .venv build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
