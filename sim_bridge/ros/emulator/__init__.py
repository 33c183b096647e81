"""A mobile manipulator behind Nav2's, MoveIt's and ros2_control's interfaces, for trials.

Written from their documents; it knows nothing of the bridge. Its world is the embedded simulator.
"""
