#!/usr/bin/env bash
# Make this checkout runnable: virtual environment, ROS 2 and all libraries at the pinned
# versions, our interface packages, and the package itself. Safe to repeat; each step is
# skipped while the contents of its inputs are unchanged.
#
#   PYTHON=python3.12 scripts/setup.sh      # choose the interpreter
#   PLANNER_APT=no scripts/setup.sh         # never call apt, only print what is missing
#   scripts/setup.sh environment            # all but the interfaces: enough for checks of the source
#   scripts/setup.sh robots                 # with the interfaces of robots with Nav2 and MoveIt
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
venv=$root/.venv

# A sourced ROS distribution must not leak into this environment, which has its own.
unset PYTHONPATH PYTHONHOME AMENT_PREFIX_PATH CMAKE_PREFIX_PATH COLCON_PREFIX_PATH \
  LD_LIBRARY_PATH VIRTUAL_ENV ROS_DISTRO _ROS_WHEELS_BOOTSTRAP_COMPLETE

say() { printf 'set-up: %s\n' "$*"; }
fail() { printf 'set-up: error: %s\n' "$*" >&2; exit 1; }
hash_of() { # PATH...: one hash over names and contents
  find "$@" -type f -not -name '*.pyc' -print0 | sort -z | xargs -0 sha256sum | sha256sum | cut -d' ' -f1
}
fresh() { # STAMP HASH: is this step done for these inputs?
  [ -f "$venv/.stamp-$1" ] && [ "$(cat "$venv/.stamp-$1")" = "$2" ]
}
stamp() { printf '%s\n' "$2" > "$venv/.stamp-$1"; }

# ---- which Python ------------------------------------------------------------------------
# Complete = it has venv and the headers that the interfaces are compiled against. Distributions
# package both separately.
probe='
import sys, sysconfig, pathlib
assert (3, 11) <= sys.version_info[:2] <= (3, 13)
missing = []
try:
    import ensurepip, venv
except ImportError:
    missing.append("venv")
if not (pathlib.Path(sysconfig.get_path("include")) / "Python.h").is_file():
    missing.append("dev")
print(f"{sys.version_info.major}.{sys.version_info.minor}", *missing)
'
choose_python() {
  local candidate answer
  python='' lacking=''
  for candidate in ${PYTHON:-python3.13 python3.12 python3.11 python3}; do
    answer=$("$candidate" -c "$probe" 2>/dev/null) || continue
    read -r version lack <<< "$answer"
    if [ -z "$lack" ]; then python=$candidate; lacking=''; return; fi
    if [ -z "$python" ]; then python=$candidate; lacking=$lack; fi
  done
  [ -n "$python" ] || fail "no Python 3.11, 3.12 or 3.13 found (tried ${PYTHON:-python3.13 python3.12 python3.11 python3}); install one, or name it: make PYTHON=/path/to/python3.12"
  version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
}

# ---- system packages ---------------------------------------------------------------------
libraries_known=$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2> /dev/null || true)
has_library() { grep -q "^[[:space:]]*$1 " <<< "$libraries_known"; }
has_mesa() { has_library libOSMesa.so.8 || compgen -G '/usr/lib/*/dri/*swrast*' > /dev/null || compgen -G '/usr/lib/*/libgallium*' > /dev/null; }

install_packages() { # PACKAGE...
  local apt=(apt-get install -y --no-install-recommends "$@")
  if [ "${PLANNER_APT:-yes}" = no ] || ! command -v apt-get > /dev/null; then return 1; fi
  if [ "$(id -u)" -eq 0 ]; then set -- env; elif command -v sudo > /dev/null && { [ -t 0 ] || sudo -n true 2> /dev/null; }; then set -- sudo; else return 1; fi
  say "installing system packages: ${apt[*]:4}"
  "$@" env DEBIAN_FRONTEND=noninteractive apt-get update -qq &&
    "$@" env DEBIAN_FRONTEND=noninteractive "${apt[@]}" -qq > /dev/null
}

system_packages() {
  local required=() drawing=() part
  command -v cmake > /dev/null || required+=(cmake)
  command -v make > /dev/null || required+=(make)
  command -v g++ > /dev/null || required+=(g++)
  for part in $lacking; do required+=("python$version-$part"); done
  if ! has_library libOSMesa.so.8; then
    has_library libEGL.so.1 || drawing+=(libegl1)
    has_library libOpenGL.so.0 || drawing+=(libopengl0)
    has_mesa || drawing+=(libgl1-mesa-dri)
  fi
  [ ${#required[@]} -gt 0 ] || [ ${#drawing[@]} -gt 0 ] || return 0
  if install_packages "${required[@]}" "${drawing[@]}"; then return 0; fi
  if [ ${#required[@]} -gt 0 ]; then
    fail "these system packages are missing; run this, then repeat: sudo apt-get install -y ${required[*]} ${drawing[*]}"
  fi
  say "warning: no OpenGL: the simulator will draw by rays, slowly. Better: sudo apt-get install -y ${drawing[*]}"
}

# ---- steps -------------------------------------------------------------------------------
identity() { "$1" -c 'import sys; print(sys.base_prefix, sys.version)'; } # of an interpreter

environment_is_current() { # made here, for the requested Python, if any
  [ -x "$venv/bin/python" ] && fresh environment "$root" &&
    { [ -z "${PYTHON:-}" ] || [ "$(identity "$venv/bin/python")" = "$(identity "$PYTHON")" ]; }
}

make_environment() {
  say "virtual environment with Python $version"
  rm -rf "$venv" .ws
  "$python" -m venv "$venv"
}

# uv takes seconds instead of a minute, but does not read pip's settings: where those name an index
# or a proxy, pip is used.
pip_is_configured() { "$venv/bin/python" -m pip config list | grep -qE '\.(index-url|no-index|proxy)='; }

install_libraries() {
  local pip=("$venv/bin/python" -m pip install -qq --disable-pip-version-check -c constraints.txt)
  local fast=("$venv/bin/uv" pip install -q --system-certs --python "$venv/bin/python" -c constraints.txt)
  say "libraries and ROS 2 (constraints.txt)"
  "${pip[@]}" uv
  # An interrupted set-up may have left a part of uv, which pip takes for an installed one.
  "$venv/bin/uv" --version > /dev/null 2>&1 || "${pip[@]}" --force-reinstall --no-deps uv
  if pip_is_configured; then fast=("${pip[@]}"); fi
  "${fast[@]}" pip setuptools cffi # imported by the build, which is not isolated
  # compat puts this folder on Python's path. The default finder comes after the path, where any
  # folder called planner (such as a checkout, seen from its parent) would hide the package.
  PYTHONWARNINGS=ignore "${fast[@]}" --no-build-isolation --config-settings editable_mode=compat -e '.[ros,dev]'
}

is_compiled() { compgen -G 'sim_bridge/embedded/_compiled*.so' > /dev/null && fresh compiled "$1"; } # HASH

compile_part() {
  say "the simulator's compiled part"
  "$venv/bin/python" setup.py -q build_ext --force --inplace ||
    fail "compiling sim_bridge/embedded/*.c failed; see above"
}

is_ready() { # [environment|robots]
  environment_is_current && fresh libraries "$libraries" && is_compiled "$compiled" &&
    { [ "${1:-}" = environment ] || fresh interfaces "$interfaces"; } &&
    { [ "${1:-}" != robots ] || fresh robots "$robots"; }
}

main() { # [environment|robots]
  local libraries compiled pins interfaces robots started=$SECONDS
  libraries=$(hash_of pyproject.toml constraints.txt setup.py setup.cfg scripts/setup.sh)
  compiled=$(hash_of sim_bridge/embedded/*.[ch] sim_bridge/embedded/compiled_build.py)
  # Only the pins of ROS and NumPy affect the compiled interfaces.
  pins=$(grep -E '^(ros-|numpy=)' constraints.txt | sha256sum)
  interfaces=$(hash_of msgs shims/tf2_msgs scripts/build_interfaces.sh)$pins
  robots=$(hash_of msgs/cmake shims scripts/build_interfaces.sh)$pins
  # Who needs the environment alone does not wait for the interfaces.
  if is_ready "$@"; then return 0; fi
  # One set-up of a checkout at a time.
  exec 9> "$root/.setup.lock"
  flock 9
  if is_ready "$@"; then return 0; fi
  choose_python
  system_packages
  if ! environment_is_current; then
    choose_python # again, now that its missing parts are installed
    make_environment
    stamp environment "$root"
  fi
  if ! fresh libraries "$libraries"; then install_libraries; stamp libraries "$libraries"; fi
  if ! is_compiled "$compiled"; then compile_part; stamp compiled "$compiled"; fi
  if [ "${1:-}" = environment ]; then return 0; fi
  if ! fresh interfaces "$interfaces"; then
    say "ROS interfaces (msgs/)"
    scripts/build_interfaces.sh
    stamp interfaces "$interfaces"
  fi
  if [ "${1:-}" = robots ] && ! fresh robots "$robots"; then
    say "ROS interfaces of robots (shims/)"
    scripts/build_interfaces.sh robots
    stamp robots "$robots"
  fi
  say "ready after $((SECONDS - started)) s: .venv/bin/planner"
}

main "$@"
