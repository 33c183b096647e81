"""What planners say to language models: our own words around the papers' literal syntax."""
