#!/usr/bin/env bash
# scripts/timed.sh NAME COMMAND...: run a step and print its duration.
set -uo pipefail
name=$1
shift
started=$SECONDS
"$@"
status=$?
printf '== %s: %s after %d s\n' "$name" "$([ $status -eq 0 ] && echo ok || echo "FAILED ($status)")" $((SECONDS - started))
exit $status
