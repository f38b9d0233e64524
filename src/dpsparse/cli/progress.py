"""Progress of long commands, on standard error; elsewhere than on a terminal nothing would be seen but empty lines."""

from contextlib import contextmanager


def _bar(*columns):
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TimeElapsedColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (BarColumn(), *columns, TimeElapsedColumn(), TimeRemainingColumn())
    return Progress(*columns, "{task.description}", console=console, transient=True, disable=not console.is_terminal)


@contextmanager
def step_bar(total):
    """A bar; gives the function to call, with a name, before each of `total` (or None) steps."""
    from rich.progress import MofNCompleteColumn

    with _bar(MofNCompleteColumn()) as progress:
        task = progress.add_task("", total=total)
        started = []

        def next_step(name):
            progress.update(task, description=name, completed=len(started))
            started.append(name)

        yield next_step


@contextmanager
def share_bar():
    """A bar; gives the function to call with what is done, which may be a fraction, and what there is to do."""
    from rich.progress import TaskProgressColumn

    with _bar(TaskProgressColumn()) as progress:
        task = progress.add_task("reading and fitting", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
