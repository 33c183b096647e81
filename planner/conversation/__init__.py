"""What persons say to robots while and after they carry out a task, and what robots reply."""
