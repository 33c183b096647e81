#!/usr/bin/env bash
# Builds the documentation as a site, in an environment of its own; a warning is an error.
# `scripts/docs.sh FOLDER` writes it to FOLDER; default: site/.
set -euo pipefail
cd "$(dirname "$0")/.."

VENV=$(realpath -m "${PLANNER_DOCS_VENV:-.docs}")
# Made again where versions change.
STAMP="$VENV/ready-$(sha256sum constraints.txt | cut -c 1-16)"
if [ ! -e "$STAMP" ]; then
  rm -rf "$VENV"
  "${PYTHON:-.venv/bin/python}" -m venv "$VENV"
  "$VENV/bin/pip" install -q --disable-pip-version-check -c constraints.txt mkdocs-material
  touch "$STAMP"
fi
# It would tell us about other products.
export NO_MKDOCS_2_WARNING=1 DISABLE_MKDOCS_2_WARNING=true
"$VENV/bin/mkdocs" build --strict --quiet --site-dir "$(realpath -m "${1:-site}")"
