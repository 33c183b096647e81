"""The bridge's parameters."""
