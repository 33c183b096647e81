"""LLaMAR's tasks: our own, and an importer for the public list."""
