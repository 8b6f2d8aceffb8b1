"""The ledger: transactions, entries, budget, contract, and the databases that hold them."""
