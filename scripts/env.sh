# source scripts/env.sh
#
# Sets up a shell to use this checkout's ROS 2 by hand: its Python, interfaces and build
# tools. `make` and `.venv/bin/planner` do not need it.
_planner_root=$(cd "$(dirname "${BASH_SOURCE[0]:-$0}")/.." && pwd)
if [ ! -x "$_planner_root/.venv/bin/python" ]; then
  echo "there is no environment yet: make setup" >&2
else
  # A distribution's ROS that was sourced before would mix with this one.
  unset PYTHONPATH CMAKE_PREFIX_PATH AMENT_PREFIX_PATH LD_LIBRARY_PATH _ROS_WHEELS_BOOTSTRAP_COMPLETE
  export VIRTUAL_ENV=$_planner_root/.venv
  export PATH=$VIRTUAL_ENV/bin:$PATH
  export AMENT_PREFIX_PATH=$VIRTUAL_ENV
  export CMAKE_PREFIX_PATH=$VIRTUAL_ENV
  # Loopback only, also for `ros2` and your own programs; as planner/network.py.
  if [ "${PLANNER_NETWORK:-loopback}" != open ] && [ -z "${FASTDDS_DEFAULT_PROFILES_FILE:-}" ]; then
    export FASTDDS_DEFAULT_PROFILES_FILE=$_planner_root/config/dds/fastdds_loopback.xml
    export RMW_FASTRTPS_USE_QOS_FROM_XML=1
    export ROS_AUTOMATIC_DISCOVERY_RANGE=SYSTEM_DEFAULT
  elif [ "${PLANNER_NETWORK:-loopback}" != open ]; then
    export ROS_AUTOMATIC_DISCOVERY_RANGE=${ROS_AUTOMATIC_DISCOVERY_RANGE:-LOCALHOST}
  fi
fi
unset _planner_root
