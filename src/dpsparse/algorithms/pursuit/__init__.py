"""Private robust pursuit: schedule, loop, generalised least squares."""
