"""Generates ET-Plan-Bench's tasks with plans that were carried out (ETPLAN-2.1)."""
