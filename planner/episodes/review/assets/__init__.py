"""The page's markup, script and style."""
