#!/usr/bin/env bash
# scripts/second_try.sh NAME PYTEST-ARGUMENTS...: run tests, and files with failures once more.
# What waits for processes may be late on a machine that others use as well. A file that failed gets
# one more try in a process of its own, all of it, as its tests may share nodes. What fails in both
# fails; what only the second try passed is named.
set -uo pipefail
name=$1
shift
max_files=4
cache=.pytest_cache/$name
failed=$cache/v/cache/lastfailed
rm -rf "$cache"

.venv/bin/pytest -o cache_dir="$cache" "$@"
status=$?
if [ $status -ne 1 ] || [ ! -f "$failed" ]; then
  exit $status
fi
mapfile -t files < <(
  .venv/bin/python -c 'import json, sys
print(*sorted({test.split("::")[0] for test in json.load(open(sys.argv[1]))}), sep="\n")' "$failed"
)
if [ ${#files[@]} -gt $max_files ]; then
  echo "== $name: failures in ${#files[@]} files; a second try is for $max_files at most"
  exit $status
fi
echo "== $name: second try of ${files[*]}"
# The same options but for what to run and in how many processes.
options=()
for each in "$@"; do
  [ -e "$each" ] || options+=("$each")
done
.venv/bin/pytest -o cache_dir="$cache" "${options[@]}" -n 0 "${files[@]}"
status=$?
[ $status -eq 0 ] && echo "== $name: passed in the second try only: ${files[*]}"
exit $status
