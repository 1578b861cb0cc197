"""The store: database connections, transactions, versions and the change feed, upgrades, backups and saves (sav-3)."""
