"""The story as it is heard over ROS."""
