"""A tour of the house: the smallest demonstration of cameras, motion and topics."""
