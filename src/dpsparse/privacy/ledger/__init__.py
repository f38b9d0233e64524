"""Budgets of datasets on disk: the ledger, its events, their storage."""
