#' Fit a private sparse linear regression
#'
#' Effects are those that `lm` gives for the selected columns without privacy, with intervals that
#' allow for privacy noise. Text, factors, dates, `TRUE`/`FALSE` and gaps are read as they are: which
#' categories there are is learned within the guarantee, and levels of factors are not read.
#'
#' @param formula A response and features, such as `cost ~ age + region`, or `cost ~ .`. Terms may be
#'   functions of one number, such as `log1p(income)` or `I(age^2)`, products `a:b` and `a * b`, also
#'   of a number and a category, `factor(ward)`, and splines with public knots,
#'   `bs(age, knots = c(30, 50, 70), lower = 0, upper = 110)`. What would read other records, such as
#'   `scale` or `poly`, is refused.
#' @param data A data frame, one row for each person, or with a column that says whose each row is.
#' @param person The name of that column; `NULL` where each row is a person. The guarantee is to a
#'   person with all their rows.
#' @param epsilon,delta The guarantee; `NULL` for a delta of `n^-1.1`.
#' @param sparsity The number of columns to select, or `"auto"`.
#' @param estimand `"mean"`, as least squares, or `"typical"`, as Huber's robust regression.
#' @param ledger,dataset Where a budget is kept and the name under which it was granted; see
#'   [dp_budget()].
#' @param ... Further parameters of `PrivateSparseRegressor` in Python.
#' @return An object of class `dp_lm`, with the methods that R users know. It holds what was released,
#'   and no records.
#' @export
#' @examples
#' if (dp_available()) {
#'   set.seed(1)
#'   people <- data.frame(age = rnorm(5000, 50, 15), smoker = runif(5000) < 0.2)
#'   people$cost <- 100 * people$age + 9000 * people$smoker + 2000 * rt(5000, 3)
#'   fit <- dp_lm(cost ~ age + smoker, people, epsilon = 2, sparsity = 2)
#'   print(fit)
#' }
dp_lm <- function(formula, data, epsilon = 1, delta = NULL, sparsity = 5, estimand = c("mean", "typical"),
                  person = NULL, ledger = NULL, dataset = NULL, ...) {
  parsed <- .read_formula(formula, data, person)
  estimator <- .python$dpsparse$PrivateSparseRegressor(
    epsilon = epsilon, delta = delta, sparsity = .sparsity(sparsity), estimand = match.arg(estimand),
    ledger = ledger, dataset = dataset, ...
  )
  .fitted(estimator, parsed, match.call(), "dp_lm", person = person)
}

#' Fit a private sparse logistic or Poisson regression
#'
#' Effects are log odds, or logs of rates, as `glm` gives them for the selected columns without
#' privacy.
#'
#' @inheritParams dp_lm
#' @param family `binomial` or `poisson`, with their usual links, as in `glm`.
#' @param exposure The name of the column that counts are in proportion to, such as years at risk.
#' @param positive The label of the response that is yes; every other one is no. `NULL` where the
#'   response is 0/1 or `TRUE`/`FALSE`. It is public: it is not taken from the levels of a factor.
#' @param ... Further parameters of `PrivateSparseClassifier` or `PrivateSparsePoissonRegressor` in
#'   Python.
#' @return An object of class `dp_glm`, and of `dp_lm`.
#' @export
#' @examples
#' if (dp_available()) {
#'   set.seed(1)
#'   people <- data.frame(age = rnorm(5000, 50, 15))
#'   people$ill <- ifelse(runif(5000) < plogis(0.05 * (people$age - 50)), "yes", "no")
#'   fit <- dp_glm(ill ~ age, people, positive = "yes", epsilon = 2, sparsity = 1)
#'   tidy(fit, exponentiate = TRUE)
#' }
dp_glm <- function(formula, data, family = stats::binomial, positive = NULL, exposure = NULL, epsilon = 1,
                   delta = NULL, sparsity = 5, person = NULL, ledger = NULL, dataset = NULL, ...) {
  if (is.character(family)) family <- get(family, mode = "function", envir = asNamespace("stats"))
  if (is.function(family)) family <- family()
  known <- list(
    `binomial logit` = "PrivateSparseClassifier", `poisson log` = "PrivateSparsePoissonRegressor"
  )[[paste(family$family, family$link)]]
  if (is.null(known)) {
    stop("family must be binomial or poisson with its usual link; dp_lm is for numbers", call. = FALSE)
  }
  parsed <- .read_formula(formula, data, c(exposure, person))
  estimator <- .python$dpsparse[[known]](
    epsilon = epsilon, delta = delta, sparsity = .sparsity(sparsity), ledger = ledger, dataset = dataset, ...
  )
  .fitted(estimator, parsed, match.call(), c("dp_glm", "dp_lm"),
    positive = positive, exposure = exposure, person = person
  )
}

#' Fit a private regression of a cost, in two parts
#'
#' Costs, claims and donations are mostly 0 and otherwise positive. One fit has both parts: whether
#' there is any, as a logistic regression, and how much where there is, as least squares. Effects are
#' average marginal effects on the overall mean.
#'
#' @inheritParams dp_lm
#' @param ... Further parameters of `PrivateSparseTwoPartRegressor` in Python.
#' @return An object of class `dp_lm`, whose entries `whether`, of class `dp_glm`, and `how.much` are
#'   the two parts, with the same methods.
#' @export
#' @examples
#' if (dp_available()) {
#'   set.seed(1)
#'   people <- data.frame(age = rnorm(5000, 50, 15))
#'   people$cost <- (runif(5000) < plogis(0.05 * (people$age - 50))) * (100 + 5 * people$age + rexp(5000, 0.01))
#'   fit <- dp_two_part(cost ~ age, people, epsilon = 2, sparsity = 1)
#'   tidy(fit$whether, exponentiate = TRUE)
#' }
dp_two_part <- function(formula, data, epsilon = 1, delta = NULL, sparsity = 5, ledger = NULL, dataset = NULL, ...) {
  parsed <- .read_formula(formula, data)
  estimator <- .python$dpsparse$PrivateSparseTwoPartRegressor(
    epsilon = epsilon, delta = delta, sparsity = .sparsity(sparsity), ledger = ledger, dataset = dataset, ...
  )
  .fitted(estimator, parsed, match.call(), "dp_lm")
}

.sparsity <- function(sparsity) if (is.numeric(sparsity)) as.integer(sparsity) else sparsity

# A call without what do.call or an injected value puts in the place of a name: a data frame would be all records, and
# a formula has an environment, in which they may be.
.bare <- function(call) {
  attributes(call) <- attributes(call)["names"]
  for (place in seq_along(call)) {
    # An argument that is left out, as in people[1, ].
    if (identical(call[[place]], quote(expr = ))) next
    part <- call[[place]]
    if (is.call(part)) {
      call[[place]] <- .bare(part)
    } else if (!is.name(part) && !is.null(part) && !(is.atomic(part) && length(part) == 1)) {
      call[[place]] <- as.name("...")
    }
  }
  call
}

.fitted <- function(estimator, parsed, call, class, ...) {
  table <- .python$dpsparse$read_table(.as_frame(parsed$columns), formula = parsed$text, ...)
  estimator$fit(table)
  .from_python(estimator$released_, .bare(call), class)
}

# What R keeps: released numbers as R's own, and the model file as text, so that it survives saveRDS.
.from_python <- function(model, call = NULL, class = "dp_lm") {
  json <- reticulate::import("json", convert = FALSE)
  as_dict <- reticulate::import("dpsparse.model.json_file", convert = FALSE)$as_dict
  effects <- .as_data_frame(model$effects_)
  # Methods without errors have none. Lists pass whatever version of numpy there is.
  entries <- tryCatch(unlist(reticulate::py_to_r(model$vcov()$to_numpy()$tolist())), error = function(refused) NA_real_)
  covariance <- matrix(entries, nrow(effects), nrow(effects))
  dimnames(covariance) <- list(effects$term, effects$term)
  fit <- structure(
    list(
      call = call, effects = effects, glance = .as_data_frame(model$glance()), vcov = covariance,
      ratio = reticulate::py_to_r(model$ratio), summary = reticulate::py_to_r(model$summary()),
      columns = as.character(unlist(reticulate::py_to_r(model$columns_needed))),
      json = reticulate::py_to_r(json$dumps(as_dict(model)))
    ),
    class = class
  )
  if (!is.null(reticulate::py_to_r(model$parts))) {
    fit$whether <- .from_python(model$parts$whether, class = c("dp_glm", "dp_lm"))
    fit$how.much <- .from_python(model$parts$how_much)
  }
  fit
}

# A frame of pandas, column by column: None becomes NA.
.as_data_frame <- function(frame) {
  names <- as.character(unlist(reticulate::py_to_r(frame$columns$tolist())))
  columns <- lapply(names, function(name) {
    values <- as.list(reticulate::py_to_r(frame$get(name)$tolist()))
    values[vapply(values, is.null, TRUE)] <- NA
    unlist(values)
  })
  empty <- vapply(columns, is.null, TRUE)
  columns[empty] <- list(logical(0))
  stats::setNames(data.frame(columns, stringsAsFactors = FALSE), names)
}

#' Write and read model files
#'
#' The files are those of the Python package and of the command `dpsparse`.
#'
#' @param object A fitted model.
#' @param path A file.
#' @return `dp_load` gives the model.
#' @export
dp_save <- function(object, path) {
  writeLines(enc2utf8(object$json), path, useBytes = TRUE)
  invisible(object)
}

#' @rdname dp_save
#' @export
dp_load <- function(path) {
  model <- .python$dpsparse$load_model(path)
  is_ratio <- !is.null(reticulate::py_to_r(model$ratio))
  .from_python(model, class = if (is_ratio) c("dp_glm", "dp_lm") else "dp_lm")
}

.as_model <- function(object) {
  path <- tempfile(fileext = ".json")
  on.exit(unlink(path))
  dp_save(object, path)
  .python$dpsparse$load_model(path)
}
