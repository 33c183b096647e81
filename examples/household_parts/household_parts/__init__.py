"""Parts of others for the package `planner`."""
