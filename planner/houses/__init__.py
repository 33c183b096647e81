"""Houses made by rule: rooms and doors, furniture, small things, drawings and the commands."""
