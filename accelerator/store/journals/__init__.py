"""Journals in the store: advice, claims, runs, the ledger of APPLY and the query log."""
