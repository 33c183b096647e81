"""What a bag keeps of some topics besides their messages."""
