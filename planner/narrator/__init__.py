"""The narrator: gives the instruction, tells the story, draws the picture, says the verdict."""
