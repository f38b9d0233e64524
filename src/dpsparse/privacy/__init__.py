"""What a privacy reviewer has to read, and nothing else: no rows, no estimators.

`budget` converts promises, `sensitivity` proves bounds, `noise` draws, `selection` and `release` combine the three.
`commitment` is what a fit says it will release, `meter` holds it to that, `record` keeps what was spent. `odometer`
adds up fits, and `ledger` (its events, its store) makes the sum last.
"""
