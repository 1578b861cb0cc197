"""Jobs: background work in a queue in the store, with leases, retries and a monthly budget."""
