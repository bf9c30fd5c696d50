# On a bare machine with python3 and make: `make demo` and `make test` create .venv, install everything and run.
# The second call is instant: the stamp is only older than pyproject.toml when the dependencies may have changed.

STAMP := .venv/installed
BIN   := .venv/bin
PYTHONS := $(or $(PYTHON),python3 python3.13 python3.12 python3.11 python)

# A dot every other second, while something works and says nothing.
BEAT := { while sleep 2; do printf .; done & } ; beat=$$!;
ENDS := done=$$?; kill $$beat; echo; exit $$done;

.DEFAULT_GOAL := help
.PHONY: help install docs demo quick test exhaustive fuzz check bench proofs clean

help:  ## this list
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' Makefile | expand -t 18

install: $(STAMP)  ## create .venv and install mace with everything optional

# A name on the path may be a wrapper around nothing, or a Python without venv: only running it tells.
$(STAMP): pyproject.toml
	@for python in $(PYTHONS); do \
	    if "$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
	        echo "Creating .venv with $$python"; $(BEAT) "$$python" -m venv --clear .venv; $(ENDS) \
	    fi; \
	done; \
	{ echo 'mace needs Python 3.11 or newer, with venv. Tried: $(PYTHONS)'; \
	  echo "python3 here is: $$(python3 --version 2>&1)"; \
	  echo 'Install one (Debian, Ubuntu: apt install python3 python3-venv), or name it: make PYTHON=<path> demo'; } >&2; \
	exit 1
	@echo 'Installing mace and the libraries whose models it reads (about 2 GB on disk, some minutes the first time)'
	@$(BEAT) $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable '.[all,dev]' \
	    && { $(BIN)/python -m compileall -qq -j 0 -x /tests/ .venv/lib mace mace/proofs/ || true; }; $(ENDS)
	@touch $@

docs: $(STAMP)  ## the documentation as a site, in build/site; every block of code in it is run by the tests
	@echo 'Building the site'; $(BEAT) NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict --site-dir build/site \
	    && echo && echo 'build/site/index.html'; $(ENDS)

demo: $(STAMP)  ## explain decisions of models trained on a small loan table
	@$(BIN)/mace demo

# With as many processes as cores, more threads in each wait for each other, and libgomp's do so busily: without these two
# lines the tests of boosted trees take five times as long.
quick test exhaustive fuzz: export OMP_NUM_THREADS ?= 1
quick test exhaustive fuzz: export OMP_WAIT_POLICY ?= PASSIVE

quick: $(STAMP)  ## the tests that take seconds
	@$(BIN)/python -m pytest -n 2 --dist worksteal -m 'not slow and not exhaustive'

test: $(STAMP)  ## all tests, quick ones first
	@$(BIN)/python -m pytest -n 2 --dist worksteal

exhaustive: $(STAMP)  ## the same truths on many more cases; takes an hour or so
	@$(BIN)/python -m pytest -n 2 --dist worksteal -m exhaustive

fuzz: $(STAMP)  ## random problems against enumeration: SECONDS=600 SEED=7, or a fixed amount: ROUNDS=1; failures are shrunk
	@$(BIN)/python -m tests.fuzz --seconds $(or $(SECONDS),600) $(if $(ROUNDS),--rounds $(ROUNDS)) \
	    $(if $(EXAMPLES),--examples $(EXAMPLES)) $(if $(SEED),--seed $(SEED))

check: $(STAMP)  ## ruff and mypy, strict
	@$(BIN)/ruff check .
	@$(BIN)/mypy

bench: $(STAMP)  ## speed on this machine; prints a table, judges nothing
	@$(BIN)/python -m tests.bench

proofs:  ## the mechanised theorems, and the checker extracted from them (needs coqc, OCaml; says so when they are absent)
	@if ! command -v coqc >/dev/null; then echo 'proofs: skipped, there is no coqc here (Debian: apt install coq)'; \
	else $(MAKE) --no-print-directory -j 2 -C proofs/theory && $(MAKE) --no-print-directory -C proofs/verified; fi

clean:  ## remove .venv and everything that can be made again
	rm -rf .venv build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
