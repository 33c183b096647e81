"""This project's own episodes, built from recipes."""
