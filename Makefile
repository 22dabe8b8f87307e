.PHONY: install demo test check clean

PYTHON ?= python3
VENV = .venv
RUN = $(VENV)/bin/python -P -m
STAMP = $(VENV)/installed

install: $(STAMP)  ## Set up .venv with everything

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $(STAMP)

demo: install  ## Judge the drafts in examples/ through queues, and show the verdicts
	$(RUN) producers demo

test: check  ## Lint, types, imports, and all tests
	$(VENV)/bin/pytest

check: install
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/lint-imports --no-cache
	$(VENV)/bin/pyright

clean:  ## Remove what install, demo and test made
	rm -rf $(VENV) .tribunal output dist .pytest_cache .ruff_cache .hypothesis
