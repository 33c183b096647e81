"""The memory asked from a command over ROS."""
