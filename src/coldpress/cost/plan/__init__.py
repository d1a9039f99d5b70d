"""The planner: the same traffic under every way to run it, what each costs, the cheapest that is good enough."""
