#!/usr/bin/env bash
# Build interface packages into the virtual environment: there Python and the loader find them as
# they find the wheels, and nothing has to be sourced. A shim is built where ROS has no such package.
#
#   scripts/build_interfaces.sh          # msgs/, and what /tf needs
#   scripts/build_interfaces.sh robots   # what robots with Nav2, MoveIt and ros2_control are driven by, and detectors publish
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
venv=$PWD/.venv
if [ "${1:-}" = robots ]; then
  workspace=$PWD/.ws/robots
  packages=()
  shims=(nav2_msgs control_msgs octomap_msgs object_recognition_msgs moveit_msgs vision_msgs)
else
  workspace=$PWD/.ws
  packages=(msgs)
  shims=(tf2_msgs)
fi
log=$workspace/build.log

# What an earlier build installed goes first: a removed message must not live on.
for manifest in "$workspace"/build/*/install_manifest.txt; do
  [ -f "$manifest" ] || continue
  xargs -d '\n' rm -f < "$manifest"
  # Emptied metadata folders would make pip stumble over a package without a version.
  name=$(basename "$(dirname "$manifest")")
  find "$venv"/lib/python3*/site-packages -maxdepth 1 \( -name "$name" -o -name "$name-*" \) -exec rm -rf {} +
done
rm -rf "$workspace"/{build,log,build.log}
mkdir -p "$workspace"

for shim in "${shims[@]}"; do
  "$venv/bin/python" -c "import $shim" 2> /dev/null || packages+=("shims/$shim")
done

# MAKEFLAGS: left to itself, colcon forbids parallel jobs while the machine is busy.
if [ ${#packages[@]} -gt 0 ] && ! env MAKEFLAGS="-j$(nproc)" PATH="$venv/bin:$PATH" VIRTUAL_ENV="$venv" AMENT_PREFIX_PATH="$venv" CMAKE_PREFIX_PATH="$venv" \
  "$venv/bin/colcon" --log-base "$workspace/log" build \
  --base-paths "${packages[@]}" --build-base "$workspace/build" \
  --merge-install --install-base "$venv" \
  --cmake-args -DPython3_EXECUTABLE="$venv/bin/python" -DBUILD_TESTING=OFF -Wno-dev \
  -DPLANNER_MSGS_ONLY_PYTHON=ON -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12 \
  > "$log" 2>&1; then
  tail -n 40 "$log" >&2
  echo "set-up: error: building the interfaces failed; full log: ${log#"$PWD"/}" >&2
  exit 1
fi
for name in "${shims[@]}"; do "$venv/bin/python" -c "import $name.msg"; done
[ "${1:-}" = robots ] || "$venv/bin/python" -c 'import planner_msgs.msg'
