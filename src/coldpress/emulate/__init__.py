"""Emulate: run a function on this machine as Lambda would."""
