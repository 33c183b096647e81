"""The ROS side of one agent."""
