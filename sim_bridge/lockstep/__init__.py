"""Fast time that waits for those who act on each moment."""
