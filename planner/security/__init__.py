"""Keys and permissions for ROS in a network: SROS 2, see docs/setup.md."""
