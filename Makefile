# `make sweep` and `make test` need Python 3.11, pip and make; everything else they install themselves.
# `make sweep ARGS="mask --quick"` and `make test ARGS=tests/store` pass arguments on; with ARGS="-n 0" tests run in one process.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.installed
ARGS :=
# EXTRAS=dev,tpu,cuda-compile also compiles for accelerators that are not at hand: 2 GB more.
EXTRAS ?= dev
# Of the gallery: its run, as seen from build/gallery, and where the charts go.
KEPT := runs/20261123T205009Z-c7f20ab
DRAWN ?= docs/charts

.PHONY: help sweep chart gallery findings gpu gpu-tune test test-all test-long test-cluster test-cuda-build test-tritons test-versions drill drill-cheats drill-faults drill-load drill-overhead fuzz lint gate claims types format wheel clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /  \1	/p' Makefile

sweep: $(READY)  ## run the default suites: tables here, records in results/, SVGs in charts/
	@$(BIN)/python cli.py run $(ARGS); status=$$?; \
	case $$status in 0|3|4) $(BIN)/python cli.py chart || exit;; esac; exit $$status

chart: $(READY)  ## draw the newest run's charts again
	@$(BIN)/python cli.py chart $(ARGS)

REPORT := cli.py report $(foreach run,$(sort $(wildcard results/reference/*)),--run $(run)) --into docs/FINDINGS.md

findings: $(READY)  ## docs/FINDINGS.md and its charts, from the runs in results/reference/
	@$(BIN)/python $(REPORT) $(ARGS)

gallery: $(READY)  ## draw docs/charts/ again, from the kept runs
	@mkdir -p build/gallery && ln -sfn ../../results/reference build/gallery/runs
	@cd build/gallery && seqsweep() { $(abspath $(BIN)/python) ../../cli.py "$$@" >/dev/null; } && \
	seqsweep chart attention --run runs/20261123T081322Z-9fe3cdb --out . && \
	seqsweep chart mask --run runs/20261122T015841Z-071c146 --out . && \
	seqsweep chart mask topk attention --run $(KEPT) --out . && \
	seqsweep compare $(KEPT) --impl sampled_threshold,torch_topk --out topk-comparison.svg && \
	for chart in ../../docs/charts/*.svg; do cp $${chart##*/} $(abspath $(DRAWN)) || exit; done

GPU_PYTHON = has() { "$$1" docs/machines/gpu_check.py $(or $(DEVICE),cuda) --packages >/dev/null 2>&1; }; \
	if has $(PYTHON); then python=$(PYTHON); \
	elif has $(BIN)/python || $(MAKE) --no-print-directory $(READY) EXTRAS=dev,cuda,triton; then python=$(BIN)/python; \
	else python=$(PYTHON); fi

gpu:  ## nine minutes on a GPU, most valuable first, into results/gpu; again to go on. Installs only where PYTHON and .venv lack packages
	@$(GPU_PYTHON); PYTHON=$$python docs/machines/gpu.sh

gpu-tune:  ## four minutes on a GPU: tiles of the attention kernels, checked and timed; without a GPU by their figures
	@$(GPU_PYTHON); $$python docs/machines/gpu_tune.py $(ARGS)

# Tests start hundreds of interpreters: without kept bytecode each compiles the harness anew.
test test-all test-long test-cluster test-cuda-build claims gate: export PYTHONDONTWRITEBYTECODE =

test: $(READY)  ## run the tests but for the long ones, on all cores: minutes
	@$(BIN)/pytest -n logical --maxprocesses 8 -m "not full and not long" $(ARGS)

test-all: $(READY)  ## run every test but the few of test-long
	@$(BIN)/pytest -n logical --maxprocesses 8 -m "not long" $(ARGS)

test-long: $(READY)  ## gates by the clock, kills in the middle, the longest traces: a quarter of an hour, not in CI
	@$(BIN)/pytest -n logical --maxprocesses 8 -m long $(ARGS)

test-cluster: $(READY)  ## a sweep on three Ray nodes of this machine, killed in the middle: minutes, with EXTRAS=dev,ray
	@$(BIN)/pytest -n 0 -m long tests/machines $(ARGS)

CUDA_BUILD := build/cuda-build

test-cuda-build: $(CUDA_BUILD)/.installed  ## tests with torch's CUDA build and the Triton that it pins, which need no GPU: minutes, 6 GB
	@$(CUDA_BUILD)/bin/python -m pytest -n logical --maxprocesses 8 tests/cuda_build $(ARGS)
	@$(CUDA_BUILD)/bin/python -m tests.triton_matrix --targets cuda:sm_90

# Its own torch and Triton come first. All other packages, and this checkout, are those of .venv.
$(CUDA_BUILD)/.installed: | $(READY)
	@$(PYTHON) -m venv $(CUDA_BUILD)
	@$(CUDA_BUILD)/bin/pip install --quiet --disable-pip-version-check 'torch==2.14.*'
	@$(BIN)/python -c 'import sysconfig; print("import site; site.addsitedir(%r)" % sysconfig.get_path("purelib"))' \
	  >$$($(CUDA_BUILD)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/venv.pth
	@touch $@

UV := build/versions/uv

test-versions:  ## the quick tests under the oldest and newest torch and jax that are admitted, on two Pythons, by uv: an hour, 20 GB
	@test -x $(UV)/bin/uv || { $(PYTHON) -m venv $(UV) && $(UV)/bin/pip install --quiet --disable-pip-version-check uv; }
	@PATH="$(abspath $(UV))/bin:$$PATH" $(PYTHON) tests/versions.py $(ARGS)

TRITONS := 3.6.0 3.7.1 3.8.0

test-tritons: $(READY)  ## compile every Triton kernel, and run none, with the Tritons that torch 2.11, 2.13 and 2.14 pin: two minutes
	@pip="$(BIN)/python -m pip"; $$pip --version >/dev/null 2>&1 || pip="$(PYTHON) -m pip --python $(BIN)/python"; \
	for version in $(TRITONS); do test -d build/tritons/$$version || \
	$$pip install --quiet --disable-pip-version-check --no-deps --target build/tritons/$$version triton==$$version || exit; done
	@$(BIN)/python -m tests.triton_matrix --tritons $(TRITONS:%=build/tritons/%) $(ARGS)

drill: $(READY)  ## plant small faults: is one missed that a test found before? an hour
	@$(BIN)/python -m tests.drill.mutations try --all $(ARGS)

FUZZ := 150

drill-faults: $(READY)  ## kill commands at random moments, go on or repeat, and compare: docs/RELIABILITY.md's table; a quarter of an hour
	@$(BIN)/python -m tests.faults.drill --kills 50 --into docs/RELIABILITY.md $(ARGS)

drill-load: $(READY)  ## pairs of equal programs, quiet and beside busy programs: how often are they told apart? 20 minutes of an idle machine
	@$(BIN)/python -m tests.load.drill --into docs/RELIABILITY.md $(ARGS)

drill-overhead: $(READY)  ## is a case as fast in the harness as in a plain loop of a fresh process? five pairs, ten minutes
	@$(BIN)/python -m tests.overhead.drill $(ARGS)

fuzz: $(READY)  ## properties of make test on more than a million inputs: files and command lines that are wrong; an hour
	@SEQSWEEP_FUZZ=$(FUZZ) $(BIN)/pytest -q -n 0 tests/fuzz $(ARGS)

drill-cheats: $(READY)  ## put every cheat through the runner twenty times: a quarter of an hour
	@for each in $$(seq 20); do $(BIN)/pytest -q -n 0 -m long tests/honesty $(ARGS) || failed=1; done; test -z "$$failed"

lint: $(READY)  ## formatting, rules, types, layers: what CI holds a change to
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports --no-logo

gate: $(READY)  ## exact figures and contracts of all five families, and of kernels where Triton is, against HEAD's base
	@$(BIN)/python cli.py gate --static --quick mask topk offsets mla attention attention_kernels_short $(ARGS)

claims: $(READY)  ## docs/FINDINGS.md and docs/CLAIMS.md: are they what records and figures say today?
	@$(BIN)/python $(REPORT) --check
	@$(BIN)/python cli.py claims --check $(ARGS)

types: $(READY)  ## types alone
	$(BIN)/basedpyright

format: $(READY)  ## let ruff mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

wheel: $(READY)  ## build a wheel into dist/
	$(BIN)/python -m build --wheel

clean:  ## remove .venv, caches and builds; results and charts stay
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .import_linter_cache .hypothesis __pycache__
	find harness impls tests -name __pycache__ -prune -exec rm -rf {} +

# Where python3 comes without ensurepip (Debian), its own pip fills the environment from outside.
# Of pip's lines only those are shown that take time; its status goes round the pipe in a file.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "seqsweep needs Python 3.11 or newer, and \"$(PYTHON)\" is not one: name another, as in make PYTHON=python3.12"; exit 1; }
	@echo "installing into $(VENV), some minutes the first time (torch and jax are large)"
	@$(PYTHON) -m venv $(VENV) >/dev/null 2>&1 || $(PYTHON) -m venv --without-pip $(VENV)
	@rm -f $(VENV)/status
	@pip="$(BIN)/python -m pip"; $$pip --version >/dev/null 2>&1 || pip="$(PYTHON) -m pip --python $(BIN)/python"; \
	{ $$pip install --disable-pip-version-check -c constraints.txt -e '.[all,$(EXTRAS)]'; echo $$? >$(VENV)/status; } \
	| sed -n 's/^ *\(Downloading .* MB)\)$$/  \1/p; s/^Installing collected .*/  installing what was downloaded/p'; \
	exit $$(cat $(VENV)/status)
	@touch $@
