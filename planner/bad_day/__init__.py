"""A bad day: seeded schedules of faults, and what must hold under each."""
