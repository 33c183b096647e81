"""An external package with parts for the package `planner`."""
