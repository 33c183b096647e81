"""PARTNR's planners: a dialogue for each agent, one for the team, a fine-tuned model."""
