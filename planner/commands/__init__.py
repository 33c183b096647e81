"""Commands that compose several packages; those of one package are in that package."""
