"""What a fit publishes: effects, intercept, units, guarantee, provenance."""
