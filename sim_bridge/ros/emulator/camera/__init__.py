"""The topics of the emulated robot's camera."""
