#!/usr/bin/env bash
# Build msgs/, and tf2_msgs where ROS has none, into the virtual environment: there Python and
# the loader find them as they find the wheels, and nothing has to be sourced.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
venv=$PWD/.venv
workspace=$PWD/.ws
log=$workspace/build.log

# What an earlier build installed goes first: a removed message must not live on.
for manifest in "$workspace"/build/*/install_manifest.txt; do
  [ -f "$manifest" ] && xargs -d '\n' rm -f < "$manifest"
done
# Emptied metadata folders would make pip stumble over a package without a version.
find "$venv"/lib/python3*/site-packages -maxdepth 1 \( -name 'planner_msgs*' -o -name 'tf2_msgs*' \) \
  -exec rm -rf {} +
rm -rf "$workspace"
mkdir -p "$workspace"

packages=(msgs)
"$venv/bin/python" -c 'import tf2_msgs' 2> /dev/null || packages+=(shims/tf2_msgs)

# MAKEFLAGS: left to itself, colcon forbids parallel jobs while the machine is busy.
if ! env MAKEFLAGS="-j$(nproc)" PATH="$venv/bin:$PATH" VIRTUAL_ENV="$venv" AMENT_PREFIX_PATH="$venv" CMAKE_PREFIX_PATH="$venv" \
  "$venv/bin/colcon" --log-base "$workspace/log" build \
  --base-paths "${packages[@]}" --build-base "$workspace/build" \
  --merge-install --install-base "$venv" \
  --cmake-args -DPython3_EXECUTABLE="$venv/bin/python" -DBUILD_TESTING=OFF -Wno-dev \
  -DPLANNER_MSGS_ONLY_PYTHON=ON -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12 \
  > "$log" 2>&1; then
  tail -n 40 "$log" >&2
  echo "set-up: error: building the interfaces failed; full log: .ws/build.log" >&2
  exit 1
fi
"$venv/bin/python" -c 'import planner_msgs.msg, tf2_msgs.msg'
