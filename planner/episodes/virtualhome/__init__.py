"""VirtualHome graphs, imported as episodes."""
