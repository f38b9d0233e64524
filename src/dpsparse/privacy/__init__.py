"""The privacy core: guarantees, sensitivities, noise, mechanisms, accounts, the ledger. No rows, no estimators.

`guarantee` states what a fit guarantees, `sensitivity` proves bounds, `noise` draws, and `mechanisms` combine them into
releases. `accounting` says what releases cost: `release` has one class for each kind of mechanism, `compose` adds them
up, `meter` has the plan of a fit and holds the fit to it, `record` is the account that leaves the fit, and
`filter` admits further fits on the same records. `ledger` keeps the filter on disk. The terms of single records, to
which the sensitivities apply, are computed in `engine`.
"""
