# Every target sets up what it needs first; see docs/setup.md.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
PLANNER := .venv/bin/planner

.PHONY: help setup
help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: ## virtual environment, ROS 2, interfaces; quick to repeat
	@scripts/setup.sh
