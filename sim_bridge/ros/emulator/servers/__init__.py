"""The action servers of the emulated robot."""
