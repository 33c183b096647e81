"""Memory: EPM's entity list, its operations, its updaters, its store and the belief it yields."""
