"""Search and rescue by rules: the reference for that world (docs/rescue.md)."""
