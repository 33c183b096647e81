"""The learned policy of Navigate: it drives a body to a point by depth pictures."""
