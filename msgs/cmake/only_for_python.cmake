# only_for_python()
#
# With -DPLANNER_MSGS_ONLY_PYTHON=ON leave out what only C++ programs use: half of the compiling.
# `make setup` builds so, for all nodes are of Python; a workspace of one's own builds everything.
#
# To be called after rosidl_default_generators is found and before rosidl_generate_interfaces.
# A macro, because the generators are listed in a variable of the caller.
option(PLANNER_MSGS_ONLY_PYTHON "only what Python nodes need" OFF)
macro(only_for_python)
  if(PLANNER_MSGS_ONLY_PYTHON)
    # Each generator has put itself on ament's list, as "package:file".
    list(FILTER AMENT_EXTENSIONS_rosidl_generate_idl_interfaces EXCLUDE REGEX
      "^rosidl_(generator_cpp|typesupport_(cpp|fastrtps_cpp|introspection_cpp)):")
  endif()
endmacro()
