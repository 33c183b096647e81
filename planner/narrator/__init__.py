"""The narrator: sends the instruction, prints the story, draws the picture, prints the verdict."""
