# A virtual environment is made on first use, and installed into again whenever the requirements change:
# what running needs for `make run`, what developing needs on top of it for everything else.
VENV := .venv
BIN := $(VENV)/bin
RUN_READY := $(VENV)/run-ready
DEV_READY := $(VENV)/dev-ready
REQUIREMENTS := pyproject.toml constraints.txt constraints-dev.txt
# Files are compiled when they are first imported: compiling all of them takes longer than unpacking them.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints-dev.txt
# Neighbours stay together, so that few things which they share are made twice.
# One process more than there are cores: tests that start processes of their own wait for these.
PYTEST := $(BIN)/pytest -q -n $(shell expr $$(nproc) + 1) --dist worksteal

# Where the environment forbids to keep bytecode, each of the many processes that tests start would compile PyTorch again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test docs lint format types coverage constraints wheel bench clean

# The shipped generalist solves a problem, then takes the official tests (n = 64) of all thirty algorithms
# beside the paper's nets: the first two samples of each, or with FULL=1 all, which takes hours without a GPU.
run: $(RUN_READY)
	$(BIN)/algorist run heapsort 5 2 9 1
	@echo
	@echo "$(if $(FULL),All samples,The first two samples) of each official test (n = 64), all thirty algorithms:"
	@mkdir -p runs
	$(BIN)/algorist eval --model generalist --official $(if $(FULL),,--samples 2) --html runs/generalist.html

test: lint types
	$(PYTEST)

# The documentation, in site/: open site/index.html.
docs: $(DEV_READY)
	$(BIN)/python docs/making/fill.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

lint: $(DEV_READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(DEV_READY)
	$(BIN)/mypy

format: $(DEV_READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The tests once more, slower, with the share of lines that they run; it fails below the share in pyproject.toml.
coverage: $(DEV_READY)
	$(PYTEST) --cov --cov-report=term:skip-covered

# constraints-dev.txt anew, with the newest versions that fit pyproject.toml and constraints.txt.
constraints:
	python3 .ci/constraints.py > constraints-dev.new
	mv constraints-dev.new constraints-dev.txt

# A wheel, tried in an environment of its own, away from the repository.
wheel: $(DEV_READY)
	rm -rf dist
	$(BIN)/python -m hatchling build -t wheel -d dist
	.ci/try-wheel dist/*.whl

# make bench PEER=python3 compares with the dm-clrs of that interpreter.
bench: $(DEV_READY)
	$(BIN)/python benchmarks/sampling.py $(if $(PEER),--peer $(PEER))
	$(BIN)/python benchmarks/sampling.py --n 64 $(if $(PEER),--peer $(PEER))
	$(BIN)/python benchmarks/sampling.py --first
	$(BIN)/python benchmarks/training.py $(if $(PEER),--peer $(PEER))

# Machine code of older versions stays in __pycache__ until somebody sweeps it out.
clean:
	find algorist examples tests -name __pycache__ -prune -exec rm -rf {} +
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage* build dist site

$(BIN)/python:
	python3 -m venv $(VENV)

$(RUN_READY): $(REQUIREMENTS) | $(BIN)/python
	$(INSTALL) -e .
	touch $@

$(DEV_READY): $(REQUIREMENTS) | $(BIN)/python
	$(INSTALL) -e '.[dev]'
	touch $(RUN_READY) $@
