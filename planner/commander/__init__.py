"""A Python client that commands running nodes."""
