"""Runs another memory, planner or evaluator over a bag: in process, without ROS."""
