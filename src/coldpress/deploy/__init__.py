"""Deploy: from an artifact to a function that answers, on AWS or in the local Lambda.

What is there is read, what is wanted is said, and the difference is a list of steps: shown first, then done. Every
step looks before it acts, so that running it again after an interruption finishes the work.
"""
