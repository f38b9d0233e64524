"""A store: a table written once by `dpsparse convert`, in chunks of records, and read at the speed of the disk.

A folder with `store.json` and, for each range of records, some .npy files. What they are is the store's layout:

- "features", where every column is declared: `features-00000.npy`, features in public units in Fortran order, so that
  a pass reads a file in one go and a single feature is one stretch of it, and `response-00000.npy` in float64.
- "cells", where a fit has to learn what columns are: `texts-00000.npy`, the cells' texts in UTF-8, one after another
  and column by column; `ends-00000.npy`, where each of them ends, as ~end in a blank record, in Fortran order; and
  `numbers-00000.npy`, the columns whose type is a number, a boolean or a date, in float64 and Fortran order.

`store.json` is written last and has a checksum of itself; a file it does not list does not count.
"""
