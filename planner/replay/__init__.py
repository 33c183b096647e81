"""Replay: bags in, the same evaluator and the same records out. Needs no ROS."""
