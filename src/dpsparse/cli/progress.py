"""Progress of long commands."""

from contextlib import contextmanager


@contextmanager
def step_bar(total):
    """A bar on standard error; gives the function to call, with a name, before each of `total` (or None) steps."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    columns += (TextColumn("{task.description}"),)
    console = Console(stderr=True)
    # Elsewhere than on a terminal nothing would be seen of it but empty lines.
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=total)
        started = []

        def next_step(name):
            progress.update(task, description=name, completed=len(started))
            started.append(name)

        yield next_step
