"""Imports VirtualHome graphs as episodes."""
