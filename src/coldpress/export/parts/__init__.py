"""One file for each thing that an exported stack is made of; what `deploy` knows is asked of it."""
