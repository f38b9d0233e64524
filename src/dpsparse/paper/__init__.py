"""The paper's experiments: designs as data, a resumable runner, verdicts by rule, figures, a report."""
