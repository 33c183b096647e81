# interface_shim(DEPENDS PACKAGE... THROUGH PACKAGE...)
#
# Build the interfaces of the folder under the standard name of somebody else's package, for
# installations of ROS 2 that carry none. DEPENDS: what its fields name; THROUGH: what those need in
# turn. A macro, for the variables of find_package.
include(${CMAKE_CURRENT_LIST_DIR}/../msgs/cmake/mend_python_includes.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/../msgs/cmake/only_for_python.cmake)
macro(interface_shim)
  cmake_parse_arguments(SHIM "" "" "DEPENDS;THROUGH" ${ARGN})
  find_package(ament_cmake REQUIRED)
  find_package(rosidl_default_generators REQUIRED)
  mend_python_includes(builtin_interfaces service_msgs std_msgs ${SHIM_THROUGH} ${SHIM_DEPENDS})
  only_for_python()
  file(GLOB SHIM_INTERFACES CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}
    msg/*.msg srv/*.srv action/*.action)
  rosidl_generate_interfaces(${PROJECT_NAME} ${SHIM_INTERFACES} DEPENDENCIES ${SHIM_DEPENDS})
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
