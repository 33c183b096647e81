"""The skills, one record each; a module's name in camel case is the skill's in calls."""
