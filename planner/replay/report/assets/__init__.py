"""What the page is drawn with: plain JavaScript modules and one style sheet."""
