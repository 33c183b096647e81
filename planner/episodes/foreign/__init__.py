"""What importers share: bounded reading, and scenes of others in houses of ours."""
