"""The memory model of our own: a small network that sees things, and what it tells the memory."""
