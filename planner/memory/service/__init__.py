"""The memory's services: query, edit, save and load."""
