"""What ships inside the function. Standard library, packed native parts, and nothing else."""
