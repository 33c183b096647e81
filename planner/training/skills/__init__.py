"""Training of the policies of learned skills."""
