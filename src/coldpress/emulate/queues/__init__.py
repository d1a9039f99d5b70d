"""Queues before the local Lambda: polled, batched and settled as Lambda's event source mappings do it."""
