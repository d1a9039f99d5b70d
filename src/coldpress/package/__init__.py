"""Package: from a candidate to the tree that lies at the function's task root, and to a zip of it."""
