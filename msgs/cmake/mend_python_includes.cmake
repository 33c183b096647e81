# mend_python_includes(PACKAGE...)
#
# The PyPI wheels of interface packages export Python targets that name the header folders of
# the machine which built them, and CMake refuses a folder that does not exist. Point each such
# target at this machine's headers instead. List every interface package that is depended on,
# directly or not. Where the named folders exist, as in a distribution's own ROS, nothing is
# changed.
#
# A macro, because find_package must define its variables for the caller.
macro(mend_python_includes)
  find_package(Python3 REQUIRED COMPONENTS Interpreter Development NumPy)
  foreach(_package ${ARGN})
    find_package(${_package} REQUIRED)
    set(_target ${_package}::${_package}__rosidl_generator_py)
    if(NOT TARGET ${_target})
      continue()
    endif()
    get_target_property(_folders ${_target} INTERFACE_INCLUDE_DIRECTORIES)
    foreach(_folder IN LISTS _folders)
      if(IS_ABSOLUTE "${_folder}" AND NOT EXISTS "${_folder}")
        set_target_properties(${_target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES
          "${Python3_INCLUDE_DIRS};${Python3_NumPy_INCLUDE_DIRS}")
        break()
      endif()
    endforeach()
  endforeach()
endmacro()
