"""The safety gate that stands before every backend (rules: docs/spot.md, numbers: options.py)."""
