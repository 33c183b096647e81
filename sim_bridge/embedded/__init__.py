"""The embedded simulator: a house in MuJoCo's kinematic mode."""
