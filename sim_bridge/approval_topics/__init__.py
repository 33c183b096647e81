"""Approval questions and answers on topics."""
