"""Plans of personal routines: what they would bring about, and whether that is what is wanted."""
