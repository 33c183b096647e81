"""Rules that episodes are held to, and the command that checks them."""
