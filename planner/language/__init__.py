"""Plain English in, goals over descriptions out."""
