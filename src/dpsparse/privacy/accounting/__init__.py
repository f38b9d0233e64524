"""What releases cost together: zCDP, Gaussian DP, commitments, meters, records, the privacy filter."""
