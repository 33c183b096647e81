"""Publishing a bag again at its own pace. Only node.py needs ROS."""
