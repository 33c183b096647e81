"""Shared ROS code: quality of service, parameters, and the life of a node's process.

Together with the `node.py` files, the only place that imports rclpy and planner_msgs.
"""
