"""The cost of releases: mechanisms, composition in zCDP and Gaussian DP, commitments, meters, records, the filter."""
