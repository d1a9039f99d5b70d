"""A function's sandboxes: what they are told, when they start and end, what is written down of them."""
