"""One file for each thing that a deployed function is made of: what is there, and the steps to what is wanted."""
