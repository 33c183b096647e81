"""ET-Plan-Bench's tasks, read and imported."""
