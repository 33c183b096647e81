"""The page's code: plain JavaScript modules and one style sheet."""
