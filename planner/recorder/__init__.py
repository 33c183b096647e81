"""The recorder: every topic into a rosbag2 bag that survives a killed process."""
