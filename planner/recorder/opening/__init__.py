"""Where and how a recorder begins its bag."""
