"""The checks of `sim_bridge.conformance`, one file for each subject."""
