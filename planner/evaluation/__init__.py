"""Evaluation: what was asked, judged by the true world's states alone."""
