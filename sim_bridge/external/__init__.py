"""A robot that already runs spot_ros2: observed, and commanded by its Trigger services."""
