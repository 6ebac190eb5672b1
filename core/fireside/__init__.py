"""Conversations that can be saved, stopped and resumed."""
