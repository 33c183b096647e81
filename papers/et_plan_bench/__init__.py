"""The agent of ET-Plan-Bench: searches room by room, and puts things where they belong."""
