# A virtual environment is made on first use, and again whenever the requirements change.
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

.PHONY: run test docs lint format types bench clean

# The shipped generalist solves a problem, then takes the official tests (n = 64) of all thirty algorithms
# beside the paper's nets: the first two samples of each, or with FULL=1 all, which takes hours without a GPU.
run: $(READY)
	$(BIN)/algorist run heapsort 5 2 9 1
	@echo
	@echo "$(if $(FULL),All samples,The first two samples) of each official test (n = 64), all thirty algorithms:"
	@mkdir -p runs
	$(BIN)/algorist eval --model generalist --official $(if $(FULL),,--samples 2) --html runs/generalist.html

test: lint types
	$(BIN)/pytest -q -n auto

# The documentation, in site/: open site/index.html.
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(READY)
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# make bench PEER=python3 compares with the dm-clrs of that interpreter.
bench: $(READY)
	$(BIN)/python benchmarks/sampling.py $(if $(PEER),--peer $(PEER))
	$(BIN)/python benchmarks/sampling.py --n 64 $(if $(PEER),--peer $(PEER))
	$(BIN)/python benchmarks/sampling.py --first
	$(BIN)/python benchmarks/training.py $(if $(PEER),--peer $(PEER))

# Machine code of older versions stays in __pycache__ until somebody sweeps it out.
clean:
	find algorist examples tests -name __pycache__ -prune -exec rm -rf {} +
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist site

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || python3 -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@
