"""What a privacy reviewer has to read, and nothing else: no rows, no estimators.

`budget` converts promises, `sensitivity` proves bounds, `noise` draws, `selection` and `release` combine
the three, `record` keeps what was spent.
"""
