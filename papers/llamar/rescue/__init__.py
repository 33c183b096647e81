"""Search and rescue on a grid: fires that spread, supplies, and people to carry (LLAMAR-A1)."""
