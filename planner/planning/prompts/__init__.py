"""What planners send to language models: our own wording around the papers' literal syntax."""
