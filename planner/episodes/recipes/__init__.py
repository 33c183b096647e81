"""Episodes of this project, made from recipes."""
