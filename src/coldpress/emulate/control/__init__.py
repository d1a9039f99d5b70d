"""Functions that are deployed to the local Lambda by Lambda's own API, and kept on disk."""
