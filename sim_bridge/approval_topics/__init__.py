"""The operator, who is asked and answers, on topics."""
