"""The command line: a module for each command, one for those that read a model; `options` and `output` shared.

Commands import what they need when they run, so that help answers at once.
"""

import io
import sys
import traceback
from collections.abc import Sequence

import click

from dpsparse import __version__
from dpsparse.cli.app_command import app
from dpsparse.cli.audit_command import audit
from dpsparse.cli.bounds_command import bounds
from dpsparse.cli.budget_command import budget
from dpsparse.cli.check_command import check
from dpsparse.cli.compare_command import compare
from dpsparse.cli.convert_command import convert
from dpsparse.cli.demo_command import demo
from dpsparse.cli.evaluate_command import evaluate
from dpsparse.cli.fit_command import fit
from dpsparse.cli.model_commands import inspect, report, table
from dpsparse.cli.plan_command import plan
from dpsparse.cli.predict_command import predict
from dpsparse.cli.reproduce_command import reproduce
from dpsparse.cli.tune_command import tune
from dpsparse.messages import one_line, without_passwords


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
@click.option("-v", "--verbose", is_flag=True, help="Show a traceback where something fails.")
@click.pass_context
def cli(context: click.Context, verbose: bool) -> None:
    """Differentially private sparse linear regression that survives heavy-tailed responses."""
    context.obj = {"verbose": verbose}


COMMANDS = (
    *(fit, tune, evaluate, bounds, convert, check, predict, inspect, report, table),
    *(plan, compare, budget, app, audit, demo, reproduce),
)
for command in COMMANDS:
    cli.add_command(command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; errors take one line, and `-v` adds the traceback."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        cli.main(args=arguments, prog_name="dpsparse", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as help_text:
        click.echo(help_text.format_message())
    except click.ClickException as error:
        message = io.StringIO()
        error.show(message)
        click.echo(without_passwords(message.getvalue()), err=True, nl=False)
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("dpsparse: interrupted", err=True)
        sys.exit(130)
    except Exception as error:
        if "-v" in arguments or "--verbose" in arguments:
            whole = "".join(traceback.format_exception(error))
            if without_passwords(whole) == whole:
                raise
            # Python itself would print it as it is.
            click.echo(without_passwords(whole), err=True, nl=False)
            sys.exit(1)
        # A ValueError is this package's refusal, and has its remedy.
        hint = "" if isinstance(error, ValueError) else " (add -v before the command for a traceback)"
        click.echo(f"dpsparse: {one_line(error)}{hint}", err=True)
        sys.exit(1)
