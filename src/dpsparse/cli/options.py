"""Options that several commands share, each written once."""

from collections.abc import Callable
from typing import Any

import click

PATH = click.Path()
Command = Callable[..., Any]
Decorator = Callable[[Command], Command]

AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
BOUNDS = click.option(
    "--bounds",
    type=PATH,
    help="Public bounds of the columns; see `dpsparse bounds init`. A fit learns those that are not given.",
)
DROP = click.option(
    "--drop",
    metavar="COLUMN",
    multiple=True,
    help="A column to leave out, such as an identifier; * stands for any text. Repeat it for several.",
)
DELTA = click.option(
    "--delta",
    type=float,
    help="The guarantee's failure probability; n**-1.1 by default, or a ledger's if that is smaller.",
)
RECORDS_PER_PERSON = click.option(
    "--records-per-person",
    type=int,
    default=1,
    show_default=True,
    help="The most rows one person may have, in a table without ids; otherwise use --person.",
)
PERSON = click.option(
    "--person",
    metavar="COLUMN",
    help="The column that says whose row it is: a guarantee to each person, whatever number of rows they have.",
)
WITHIN = click.option(
    "--within",
    is_flag=True,
    help="With --person: effects within people, of rows less their person's own mean (fixed effects).",
)
LEDGER = click.option("--ledger", help="Where the budget is kept: a file or a database URL; see `dpsparse budget`.")
DATASET = click.option("--dataset", help="The name under which the budget was granted there.")
WITNESS = click.option(
    "--witness",
    type=click.Path(dir_okay=False),
    help="A file kept elsewhere with the ledger's latest head: the ledger must still contain that head, and the file "
    "is then updated.",
)
_SEPARATOR = click.option("--separator", help="CSV separator; read from the first line by default.")
_ENCODING = click.option(
    "--encoding",
    type=click.Choice(["utf-8", "latin-1", "cp1252"]),
    default="utf-8",
    show_default=True,
    help="CSV encoding; cp1252 is the usual one of Windows, and latin-1 is read as cp1252.",
)
ESTIMAND = click.option(
    "--estimand",
    type=click.Choice(["mean", "typical"]),
    show_default="mean",
    help="What effects describe: the mean response, as in least squares, or the typical response, robust to outliers, "
    "as in Huber's regression. A mean needs more records.",
)
FAMILY = click.option(
    "--family",
    type=click.Choice(["linear", "binomial", "poisson", "two-part"]),
    show_default="linear",
    help="What the target is: a number; yes or no (0 or 1, true or false), whose effects are log odds, as logistic "
    "regression gives them; a count or a cost, whose effects multiply its mean, as Poisson regression gives them; or a "
    "cost, mostly 0 and otherwise positive, modelled in two parts.",
)
N_RECORDS = click.option("--n", type=int, required=True, help="Number of records.")
N_FEATURES = click.option("--d", type=int, required=True, help="Number of features.")
DATA = click.argument("data", type=PATH)
MODEL = click.argument("model", type=PATH)


def _one_label(context: click.Context, parameter: click.Parameter, labels: tuple[str, ...]) -> str | None:
    if len(labels) > 1:
        raise click.UsageError(
            "--positive names the one label that is yes, and every other one is no; with more than two labels make one "
            "fit for each, with its own --positive LABEL"
        )
    return labels[0] if labels else None


POSITIVE = click.option(
    "--positive",
    metavar="LABEL",
    multiple=True,
    callback=_one_label,
    help="The label of the target that is yes, in lower or upper case; every other one is no. Implies "
    "--family binomial.",
)


FORMULA = click.option(
    "--formula",
    metavar="TEXT",
    help="The target and the features, such as 'cost ~ age*C(sex) + log1p(income)', in place of --target. Terms read "
    "one record at a time; others are refused.",
)
EXPOSURE = click.option(
    "--exposure",
    metavar="COLUMN",
    help="With --family poisson: the column to which the mean of the target is proportional, such as years observed. "
    "It is not a feature.",
)


class Sparsity(click.ParamType[Any]):
    """A number of features, or "auto"."""

    name = "integer or auto"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        """The number, or the word."""
        try:
            return value if value == "auto" else int(value)
        except ValueError:
            self.fail(f"{value!r} is neither a whole number nor 'auto', which lets the fit choose", parameter, context)


def epsilon(**how: Any) -> Decorator:
    """`--epsilon` of a fit."""
    return click.option("--epsilon", type=float, help="The guarantee to each person; smaller is more private.", **how)


def target(more: str = "", **how: Any) -> Decorator:
    """`--target`."""
    text = f"The column to explain; its number, from 0, in an npy file.{more}"
    return click.option("--target", help=text, **how)


def sparsity(text: str = "Features to select.", kind: Any = int) -> Decorator:
    """`--sparsity`."""
    return click.option("--sparsity", type=kind, default=5, show_default=True, help=text)


def out(text: str, kind: Any = PATH, default: str | None = None) -> Decorator:
    """`--out`."""
    return click.option("--out", type=kind, default=default, show_default=default is not None, help=text)


MODEL_OUT = out("Where the model goes, as JSON; by default beside the --report.")
REPORT = click.option("--report", type=PATH, help="Where a report goes, as HTML; see `dpsparse report`.")


def out_file(text: str, default: str) -> Decorator:
    """`--out` of a file that is written in any case."""
    return out(text, click.Path(dir_okay=False, writable=True), default)


def dialect(command: Command) -> Command:
    """`--separator` and `--encoding` of a CSV file: its dialect comes from options or line 1, never from records."""
    return _SEPARATOR(_ENCODING(command))


def of_a_fit(command: Command) -> Command:
    """What every command that fits a file takes beside its epsilon: the fields of `FileFit`, and a witness."""
    kept = (WITNESS, DATASET, LEDGER)
    of_target = (DELTA, ESTIMAND, EXPOSURE, POSITIVE, FAMILY, FORMULA)
    for option in (*kept, RECORDS_PER_PERSON, PERSON, dialect, DROP, BOUNDS, *of_target):
        command = option(command)
    return command


def of_a_model(command: Command) -> Command:
    """Where the result of a fit goes."""
    return MODEL_OUT(REPORT(AS_JSON(command)))
