"""Verification of episodes by people: right or wrong, and why (PARTNR-4.6)."""
