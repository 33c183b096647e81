"""A bag through another memory, planner or judge: in process, without ROS."""
