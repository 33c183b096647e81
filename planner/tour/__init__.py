"""A tour of the house: the shortest thing that shows cameras, motion and topics at work."""
