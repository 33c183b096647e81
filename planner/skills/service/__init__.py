"""One agent's skills as a ROS action."""
