"""What is published of a memory."""
