# Two commands do everything: `make run` and `make test`. Each sets up .venv first if it must.

PYTHON ?= python3
SUITE ?=
# A variable of this name in the environment is likely to be another program's.
CONFIG =
COUNT ?= 200000
SEED ?= 1
VERBOSE ?= 0
export VERBOSE
# A job is a process of its own: without bytecode it would spend two seconds on compiling what it imports.
unexport PYTHONDONTWRITEBYTECODE
# With these of the user, pip would install elsewhere than in .venv.
unexport PIP_USER PIP_TARGET PIP_PREFIX PIP_ROOT
BIN := .venv/bin
SPACE := $(subst ,, )
# Nothing, or the sign that keeps make from printing a command.
Q := $(if $(filter-out 0,$(VERBOSE)),,@)
# The name of a file as one word of the shell, also if it has spaces.
quoted = $(if $(word 2,$(1)),"$(1)",$(1))
# The file laid over config/config.yaml, if one is named.
OVERLAY = $(call quoted,$(or $(CONFIG),$(if $(SUITE),config/suites/$(SUITE).yaml)))
ifneq ($(CONFIG),)
ifeq ($(origin SUITE),command line)
$(error name SUITE or CONFIG, not both)
endif
endif
# Where lint looks: kernels and the headers that they share.
KERNELS = $(shell git ls-files '*.cu' '*.cuh' '*.h' '*.hpp' '*.cpp' '*.c')

.PHONY: run test quick slurm test-slurm fuzz kill-test sanitize aa compare bundle verify board history report publish results recompute lint hooks format lock reldom clean help

run: .venv/ready  ## run the whole workflow; SUITE=adaptive runs config/suites/adaptive.yaml, CONFIG=my.yaml your own; VERBOSE=1 shows every job
	$(Q)$(BIN)/relaxometer run $(OVERLAY)

test: .venv/dev  ## run every test that this machine can run, except those of test-slurm
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not slurm"

quick: .venv/dev  ## run one case of each test, without the slow files, before a commit
	$(BIN)/python -m pytest -n auto --dist worksteal --quick

slurm: .venv/slurm  ## add Snakemake's executor for SLURM clusters to .venv

test-slurm: .venv/dev .venv/slurm  ## run the workflow on a SLURM cluster of one node; skipped where slurm-wlm and munge are missing
	$(BIN)/python -m pytest -m slurm -rs tests/workflow/test_slurm.py

fuzz: .venv/dev  ## read COUNT damaged files, registries and configurations; another SEED gives others
	cd tests && ../$(BIN)/python -m fuzz.driver --count $(COUNT) --seed $(SEED)

kill-test: COUNT = 100
kill-test: .venv/dev  ## kill a tiny run COUNT times at random points; each time the next one must finish it
	RELAXOMETER_KILLS=$(COUNT) $(BIN)/python -m pytest -x tests/workflow/test_kills.py

sanitize: .venv/dev  ## run every GPU variant under compute-sanitizer, or without a GPU under the emulation's sanitizers
	$(BIN)/python tests/sanitize.py

aa: SUITE = aa-host
aa: .venv/ready  ## check that runs of one program under several names are not told apart; SUITE=aa for a GPU
	$(BIN)/relaxometer all-runs $(OVERLAY)
	$(BIN)/relaxometer aa $(OVERLAY)

THRESHOLD ?= 5%
NOW ?= results

compare: .venv/ready  ## compare results/ with BASE, a bundle or folder of results; exit code 3 (of make: 2) if a run got slower
	$(if $(BASE),,$(error name what to compare with: make $@ BASE=old.zip))
	$(Q)$(BIN)/relaxometer compare $(call quoted,$(BASE)) $(call quoted,$(NOW)) \
		--threshold=$(THRESHOLD)

FETCH ?=

bundle: .venv/ready  ## pack the results of SUITE or CONFIG into bundles/SUITE-COMMIT-DATE.zip
	$(Q)$(BIN)/relaxometer bundle $(OVERLAY)

verify: .venv/ready  ## check every byte of the file BUNDLE and prove its answers; FETCH=1 downloads files of graphs
	$(if $(BUNDLE),,$(error name the bundle: make $@ BUNDLE=bundles/default.zip))
	$(Q)$(BIN)/relaxometer verify $(call quoted,$(BUNDLE)) \
		$(if $(filter-out 0,$(FETCH)),--fetch)

TARGET ?= results/board
KEEP ?=

board: .venv/ready  ## rank the files BUNDLES of several machines in TARGET, as a page and CSV; KEEP=1 copies them there
	$(Q)$(BIN)/relaxometer board $(BUNDLES) --target $(call quoted,$(TARGET)) \
		$(if $(filter-out 0,$(KEEP)),--keep)

history: .venv/ready  ## draw times over the bundles in the folder BUNDLES, in results/history
	$(if $(BUNDLES),,$(error name the folder of the bundles: make $@ BUNDLES=bundles))
	$(Q)$(BIN)/relaxometer history $(call quoted,$(BUNDLES))

report: .venv/ready  ## write report.zip from the results of `make run`
	$(BIN)/relaxometer report $(OVERLAY)

publish: .venv/ready  ## copy the results of SUITE to docs/results/SUITE/
	$(if $(CONFIG),$(error only a suite is published, a file in config/suites: make $@ SUITE=adaptive))
	$(BIN)/relaxometer publish $(SUITE)

results: .venv/ready  ## rewrite the pages of docs/results and the figure of the README from their data
	$(BIN)/relaxometer pages
	$(BIN)/relaxometer headline

recompute: .venv/dev  ## recompute the numbers of the README and of docs/results from the data committed with them
	$(BIN)/python -m pytest -n auto -k "publish or findings or documents" tests/test_documents.py tests/report

lint: .venv/dev  ## check style, types and the layers of the package
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tests/rooms.py
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/snakemake --lint
	@echo clang-format --dry-run --Werror, on $(words $(KERNELS)) files
	@$(BIN)/clang-format --dry-run --Werror $(KERNELS)

hooks: .venv/dev  ## lint what is committed, before it is
	$(BIN)/pre-commit install

format: .venv/dev  ## rewrite the code in the form that lint checks
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/snakefmt Snakefile workflow
	$(BIN)/clang-format -i $(KERNELS)

LOCK := uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-emit-find-links --no-header

lock:  ## regenerate the lock files from pyproject.toml; needs uv
	$(LOCK) --extra workflow pyproject.toml -o requirements.lock
	$(LOCK) --extra dev --extra workflow -c requirements.lock pyproject.toml -o requirements-dev.lock
	printf 'snakemake-executor-plugin-slurm>=2.8,<3\nsnakemake-executor-plugin-slurm-jobstep' \
		| $(LOCK) --no-deps --no-annotate - -o workflow/envs/slurm.lock
	echo uv | $(LOCK) --no-annotate - -o workflow/envs/uv.lock
	{ sed '/- pip:/q' workflow/envs/relaxometer.yaml; \
		sed -n 's/ *\\$$//; s/^[A-Za-z0-9].*/      - "&"/p' requirements.lock; } > workflow/envs/relaxometer.yaml.new
	mv workflow/envs/relaxometer.yaml.new workflow/envs/relaxometer.yaml

reldom:  ## build dominators as a C library and its driver in reldom/build; with nvcc for GPUs, else emulated; needs cmake
	cmake -S reldom -B reldom/build
	env -u VERBOSE cmake --build reldom/build

clean:  ## remove results, logs, Snakemake's records, report.zip and the build of reldom
	rm -rf results logs .snakemake report.zip reldom/build

help:  ## list the targets
	@awk -F ':.*  ## ' '/^[a-z-]+:.*  ## / { printf "%-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# The locks hold every dependency, so nothing is resolved. A machine with an NVIDIA driver also gets the CuPy for
# its CUDA version, one with an MPI launcher mpi4py. Two locks, since a run needs no development tools.
INSTALLERS := $(addprefix workflow/envs/,install.sh uv.lock install_cupy.sh install_mpi4py.sh)

.venv/ready: requirements.lock pyproject.toml $(INSTALLERS)
	$(Q)$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; name one with make PYTHON=...")'
	$(if $(findstring $(SPACE),$(CURDIR)),$(error Snakemake cannot start jobs in "$(CURDIR)", whose path has a space; move the clone))
	@echo "setting up .venv"
	$(Q)test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(Q)sh workflow/envs/install.sh $(BIN)/python --require-hashes -r requirements.lock
	$(Q)sh workflow/envs/install.sh $(BIN)/python --editable .
	$(Q)sh workflow/envs/install_cupy.sh $(BIN)/python
	$(Q)sh workflow/envs/install_mpi4py.sh $(BIN)/python
	@touch $@

# Not in .venv/ready, since it imports pandas at each start of Snakemake.
.venv/slurm: .venv/ready workflow/envs/slurm.lock
	@echo "installing the executor for SLURM"
	$(Q)sh workflow/envs/install.sh $(BIN)/python --require-hashes -r workflow/envs/slurm.lock
	@touch $@

.venv/dev: .venv/ready requirements-dev.lock
	@echo "installing the development tools"
	$(Q)sh workflow/envs/install.sh $(BIN)/python --require-hashes -r requirements-dev.lock
	@touch $@
