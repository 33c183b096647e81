"""A robot that already runs spot_ros2: observed, and asked by its Trigger services."""
