"""The public names, for editors and type checkers; `__init__.py` loads the same names when they are first used."""

from dpsparse.algorithms.iht.theory import theory_parameters as theory_parameters
from dpsparse.data.on_disk import OnDisk as OnDisk
from dpsparse.data.raw_data import read_table as read_table
from dpsparse.data.streamed import Streamed as Streamed
from dpsparse.estimators.ada_huber import AdaHuber as AdaHuber
from dpsparse.estimators.ada_huber import AdaHuberCV as AdaHuberCV
from dpsparse.estimators.dp_iht import DPIHTH as DPIHTH
from dpsparse.estimators.dp_iht import DPIHTL as DPIHTL
from dpsparse.estimators.dp_iht import DPSLR as DPSLR
from dpsparse.estimators.pipelines import check_pipeline as check_pipeline
from dpsparse.estimators.sparse_classifier import PrivateSparseClassifier as PrivateSparseClassifier
from dpsparse.estimators.sparse_poisson import PrivateSparsePoissonRegressor as PrivateSparsePoissonRegressor
from dpsparse.estimators.sparse_regressor import PrivateSparseRegressor as PrivateSparseRegressor
from dpsparse.estimators.tuning import tune as tune
from dpsparse.estimators.two_part_regressor import PrivateSparseTwoPartRegressor as PrivateSparseTwoPartRegressor
from dpsparse.evaluation import evaluate as evaluate
from dpsparse.held_out import fit_and_evaluate as fit_and_evaluate
from dpsparse.io.bounds import scale_from_bounds as scale_from_bounds
from dpsparse.io.bounds_file import read_bounds as read_bounds
from dpsparse.model.effect_tables import compare_models as compare_models
from dpsparse.model.evaluation_result import Evaluation as Evaluation
from dpsparse.model.json_file import load_model as load_model
from dpsparse.model.json_file import save_model as save_model
from dpsparse.model.unread_responses import UnreadResponsesWarning as UnreadResponsesWarning
from dpsparse.planning.forecast import plan as plan
from dpsparse.privacy.accounting.meter import BudgetExceeded as BudgetExceeded
from dpsparse.privacy.accounting.record import PrivacyRecord as PrivacyRecord
from dpsparse.privacy.ledger.events import LedgerError as LedgerError
from dpsparse.privacy.ledger.ledger import PrivacyLedger as PrivacyLedger
from dpsparse.privacy.noise import NotPrivateWarning as NotPrivateWarning
from dpsparse.report.budget_facts import plot_budget as plot_budget

__version__: str
