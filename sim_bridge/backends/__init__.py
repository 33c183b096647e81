"""The backends of this project, one module each, named as the backend is."""
