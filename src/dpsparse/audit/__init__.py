"""Attacks on the promise that an outsider can run: `dpsparse audit`.

`replay` moves one record and watches every statistic, `terms` and `floating` look at bits, `accounts` at prices,
`games` at outputs; `mutations` plants bugs to show that these would be caught. Nothing here is used by a fit.
"""
