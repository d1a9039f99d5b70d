"""Lambda's world on this machine: who starts a function's processes, and what holds them."""
