"""What is loaded, told by the bridge."""
