"""From noisy releases to effects, standard errors and verdicts.

Nothing here reads data, spends budget, or knows in which order releases are made: all functions are pure functions of
released numbers and public ones. Read in this order:

- `weights`: the weight of a row in every estimating equation, and what it makes of normal rows;
- `matrices`: released second moments, pulled toward what is expected by their noise;
- `gls`: effects by generalised least squares over noisy gradients;
- `sandwich`: their covariance, J^-1 M J^-1 with privacy noise in J, in M and beside it;
- `shrinkage`: effects pulled toward 0 by their errors; are there any effects at all?
- `scores_together`: effects from several mean scores, each at effects of its own;
- `spread`: effects averaged over all that their common spread may be;
- `tails`: the law of norms from a noisy histogram, the clip that costs least, and what it leaves out;
- `ranges`: the same of numbers of either sign, whose two tails are clipped apart;
- `one_step`, `bounded_step`: the step to the estimator that an estimand names, its covariance and its bias;
- `reliability`: whose standard error can be relied on;
- `intervals`, `bias_aware`: intervals and p-values of single effects;
- `significance`: effects that are significant at a family-wise level.

All numbers are in `inference_constants`, each with its reason.
"""
