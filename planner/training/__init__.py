"""Training: data sets of camera frames, and models trained on them. torch only in functions."""
