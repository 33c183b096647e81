"""The safety gate in front of every backend (rules: docs/spot.md, parameters: options.py)."""
