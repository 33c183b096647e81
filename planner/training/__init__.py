"""Training: data sets of what cameras saw, and models made of them. torch only inside functions."""
