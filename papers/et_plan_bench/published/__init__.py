"""Reads and imports ET-Plan-Bench's tasks."""
