"""Container images without Docker: pull a base, add layers, write or push the result."""
