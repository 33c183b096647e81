#!/usr/bin/env bash
# An environment of its own with LeRobot, for `make test-lerobot`; docs/export.md.
# Prints the path of its Python. LeRobot requires Python 3.12 and other versions of libraries.
set -euo pipefail
cd "$(dirname "$0")/.."

VENV=$(realpath -m "${PLANNER_LEROBOT_VENV:-.lerobot}")
VERSION=0.6.1
if [ ! -e "$VENV/ready-$VERSION" ]; then
  for python in ${LEROBOT_PYTHON:-python3.12 python3.13 python3}; do
    if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; then
      found=$python
      break
    fi
  done
  if [ -z "${found:-}" ]; then
    echo "LeRobot $VERSION needs Python 3.12 or newer: LEROBOT_PYTHON=... make test-lerobot" >&2
    exit 1
  fi
  {
    rm -rf "$VENV"
    "$found" -m venv "$VENV"
    "$VENV/bin/pip" install -q "lerobot[dataset]==$VERSION"
    touch "$VENV/ready-$VERSION"
  } >&2
fi
echo "$VENV/bin/python"
