# interface_package(DEPENDS PACKAGE... THROUGH PACKAGE...)
#
# Build the interfaces of the folder as the package that the project is called. DEPENDS: what their
# fields name; THROUGH: what those need in turn. The shims, too, are built by it: interfaces under
# the standard names of somebody else's packages, for installations of ROS 2 that carry none.
# A macro, for the variables of find_package.
include(${CMAKE_CURRENT_LIST_DIR}/mend_python_includes.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/only_for_python.cmake)
macro(interface_package)
  cmake_parse_arguments(INTERFACES "" "" "DEPENDS;THROUGH" ${ARGN})
  find_package(ament_cmake REQUIRED)
  find_package(rosidl_default_generators REQUIRED)
  mend_python_includes(
    builtin_interfaces service_msgs std_msgs ${INTERFACES_THROUGH} ${INTERFACES_DEPENDS})
  only_for_python()
  # CONFIGURE_DEPENDS: a new interface file is picked up by the next build.
  file(GLOB INTERFACES_FILES CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}
    msg/*.msg srv/*.srv action/*.action)
  rosidl_generate_interfaces(${PROJECT_NAME} ${INTERFACES_FILES} DEPENDENCIES ${INTERFACES_DEPENDS})
  # -DCMAKE_UNITY_BUILD=ON compiles all this in half the time. Two generators write files that
  # repeat each other's names or depend on their order; theirs are compiled one by one.
  foreach(_part rosidl_generator_c rosidl_typesupport_introspection_cpp)
    if(TARGET ${PROJECT_NAME}__${_part})
      set_target_properties(${PROJECT_NAME}__${_part} PROPERTIES UNITY_BUILD OFF)
    endif()
  endforeach()
  ament_export_dependencies(rosidl_default_runtime)
  ament_package()
endmacro()
