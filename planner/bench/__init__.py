"""Benches: episodes run in this process, with the same objects as the nodes use."""
