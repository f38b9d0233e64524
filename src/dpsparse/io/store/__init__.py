"""A store: features in public units, written once by `dpsparse convert` and read at the speed of the disk.

A folder with `store.json` and, for each range of rows, two .npy files: `features-00000.npy` in Fortran order, so that a
pass reads a file in one go and a single feature is one stretch of it, and `response-00000.npy` in float64.
`store.json` is written last and has a checksum of itself; a file it does not list does not count.
"""
