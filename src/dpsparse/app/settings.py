"""What was chosen on the page, without any data: what can be saved and sent to a colleague."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from dpsparse.io.bounds_writer import bounds_text
from dpsparse.privacy.protection import ADJACENCIES, RecordsOfAPerson, WholePerson
from dpsparse.schema import Fields, FileError

if TYPE_CHECKING:
    from dpsparse.families.estimands import EstimandName
    from dpsparse.fitting import FamilyName
    from dpsparse.io.bounds import Bounds

FORMAT, VERSION = "dpsparse-settings", 1
FAMILIES: "dict[str, FamilyName]" = {each: each for each in ("linear", "binomial", "poisson", "two-part")}


@dataclass(frozen=True)
class Settings:
    """Choices of a fit, all of them public.

    Examples
    --------
    >>> Settings(target="cost", public={"age": {"low": 20, "high": 80}}).bounds().of("age").center
    50.0
    """

    target: str | None = None
    drop: tuple[str, ...] = ()  # columns to leave out
    # What is publicly known of columns: the entries of their sections in a bounds file.
    public: dict[str, dict[str, Any]] = field(default_factory=dict)
    response: dict[str, Any] = field(default_factory=dict)  # The entries of ``[response]`` there.
    family: "FamilyName" = "linear"  # whether the response is a number, yes or no, a count or a cost, or mostly 0
    person: str | None = None  # the column that says whose row it is; None where each is a person's only one
    exposure: str | None = None  # the column to which means of counts and costs are in proportion
    dataset: str | None = None  # the name of the people's budget
    records_per_person: int = 1
    sparsity: int = 5
    estimand: "EstimandName" = "mean"
    epsilon: float = 1.0
    delta: float | None = None  # None for n**-1.1
    holdout: float | None = None  # the share of the records to hold out
    # Of a CSV file.
    separator: str | None = None
    encoding: str = "utf-8"
    # Guesses for the forecast: the response's noise, an effect that one hopes to find, the share of yes, and the mean
    # of a count or a cost. No fit knows of them.
    noise: float | None = None
    effect: float | None = None
    share_of_yes: float | None = None
    mean_response: float | None = None

    @property
    def is_yes_or_no(self) -> bool:
        """Whether the response is yes or no."""
        return self.family == "binomial"

    @property
    def protects(self) -> RecordsOfAPerson | WholePerson:
        """Whom the guarantee is to, which has the words for it; these need no number of rows, and no relation."""
        if self.person is not None:
            return WholePerson(ADJACENCIES[0], 0)
        return RecordsOfAPerson(ADJACENCIES[0], self.records_per_person)

    @property
    def guaranteed(self) -> str:
        """Whom the guarantee is to, in words."""
        if self.person is not None:
            return "to each person, whatever number of rows they have"
        return f"to each person with up to {self.records_per_person} record{'s' * (self.records_per_person > 1)}"

    @property
    def most_records(self) -> int:
        """The most records of a person, as a fit takes it: 1 where a column says whose row it is."""
        return 1 if self.person is not None else self.records_per_person

    @property
    def is_count(self) -> bool:
        """Whether the response is a count or a cost."""
        return self.family == "poisson"

    @property
    def is_two_part(self) -> bool:
        """Whether the response is mostly 0, and modelled in two parts."""
        return self.family == "two-part"

    @property
    def chosen_estimand(self) -> "EstimandName | None":
        """What effects are on, where that is a choice: of numbers."""
        return self.estimand if self.family == "linear" else None

    @property
    def positive(self) -> str | None:
        """The label of yes; None where the response is a number, or 0 or 1, or true or false."""
        label: str | None = self.response.get("positive")
        return label

    def bounds(self) -> "Bounds":
        """What is publicly known, checked as a bounds file is."""
        from dpsparse.io.bounds_file import bounds_of

        entries = {"drop": list(self.drop), "columns": self.public, "response": self.response}
        return bounds_of(Fields(entries, "public units"), "public units")

    def bounds_text(self) -> str:
        """The bounds file of these settings."""
        return bounds_text(self.drop, self.public, self.response)

    def for_columns(self, names: Sequence[str]) -> "tuple[Settings, list[str]]":
        """The settings for a table with these columns, and the names that are forgotten because it lacks them."""
        present = set(names)
        named = [name for name in (self.target, self.person, self.exposure) if name] + [*self.drop, *self.public]
        fitting = replace(
            self,
            target=self.target if self.target in present else None,
            person=self.person if self.person in present else None,
            exposure=self.exposure if self.exposure in present else None,
            drop=tuple(name for name in self.drop if name in present),
            public={name: entries for name, entries in self.public.items() if name in present},
        )
        return fitting, [name for name in dict.fromkeys(named) if name not in present]

    def to_json(self) -> str:
        """The settings as a file."""
        return json.dumps({"format": FORMAT, "version": VERSION, **asdict(self)}, indent=1) + "\n"


def settings_of(fields: Fields) -> Settings:
    """The settings in the entries of a file; FileError where one is wrong."""
    from dpsparse.families.estimands import ESTIMANDS, MEAN

    if fields.take("format", None) != FORMAT or fields.count("version") != VERSION:
        raise FileError(f"{fields.where}: this is no file of settings of this version; choose one that the page saved")
    estimand = ESTIMANDS.get(fields.text("estimand", MEAN.name))
    if estimand is None:
        raise FileError(f"{fields.where}: 'estimand' must be 'mean' or 'typical'")
    family = fields.text("family", "linear")
    if family not in FAMILIES:
        raise FileError(f"{fields.where}: 'family' must be one of {', '.join(FAMILIES)}")
    holdout = fields.number("holdout", None, above=0)
    settings = Settings(
        target=fields.text("target", None),
        drop=tuple(fields.names("drop")),
        public=_tables(fields.take("public"), fields.where),
        response=_tables({"response": fields.take("response")}, fields.where)["response"],
        family=FAMILIES[family],
        person=fields.text("person", None),
        exposure=fields.text("exposure", None),
        dataset=fields.text("dataset", None),
        records_per_person=fields.count("records_per_person"),
        sparsity=fields.count("sparsity"),
        estimand=estimand.name,
        epsilon=fields.number("epsilon", above=0),
        delta=fields.number("delta", None, above=0),
        holdout=holdout,
        separator=fields.take("separator", None),
        encoding=fields.text("encoding"),
        noise=fields.number("noise", None, above=0),
        effect=fields.number("effect", None, above=0),
        share_of_yes=fields.number("share_of_yes", None, above=0),
        mean_response=fields.number("mean_response", None, above=0),
    )
    fields.finish()
    if settings.separator is not None and not isinstance(settings.separator, str):
        raise FileError(f"{fields.where}: 'separator' must be one character, or null")
    settings.bounds()
    if settings.positive is not None and not settings.is_yes_or_no:
        raise FileError(f"{fields.where}: 'positive' is for a family of 'binomial'")
    return settings


def _tables(content: Any, where: str) -> dict[str, dict[str, Any]]:
    if not isinstance(content, dict) or not all(isinstance(each, dict) for each in content.values()):
        raise FileError(f"{where}: 'public' and 'response' must be tables, as in a bounds file")
    return content


def digest(*parts: object) -> str:
    """A short fingerprint of choices, by which a page knows that they have changed elsewhere."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:16]
