"""Publishes a bag at its original pace. Only node.py needs ROS."""
