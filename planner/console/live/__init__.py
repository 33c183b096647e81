"""The console of a running stack."""
