"""Boston Dynamics Spot behind the bridge. Only this package imports bosdyn (extra `spot`)."""
