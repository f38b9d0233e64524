"""Every peer on its own ground: adapters, settings, runner and report of the comparison."""
