"""TEACh's tasks: dialogues in our houses, and games of the published data set."""
