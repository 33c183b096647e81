"""The learned policy of handling: it drives base and hand until a target can be grasped."""
