"""Where everything a writer makes is kept: connections, transactions, versions, changes, saves."""
