"""The story as received over ROS."""
