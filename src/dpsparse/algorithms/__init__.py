"""The methods: they ask an engine for exact sums and the privacy core for releases."""
