"""The backends of this project: one module each, whose name is the backend's."""
