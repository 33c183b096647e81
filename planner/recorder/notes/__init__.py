"""Metadata and attachments derived from messages."""
