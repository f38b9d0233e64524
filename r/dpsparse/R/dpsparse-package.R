#' Differentially private sparse regression
#'
#' One line sets it up: `reticulate::py_install("dpsparse[data]", pip = TRUE)`. Then [dp_plan()]
#' forecasts what a budget buys, [dp_lm()] and [dp_glm()] fit, and [dp_budget()] shows what a ledger
#' has left.
#'
#' @importFrom stats coef confint nobs predict vcov
#' @importFrom graphics plot
#' @keywords internal
"_PACKAGE"

.python <- new.env(parent = emptyenv())

.onLoad <- function(libname, pkgname) {
  # Python starts when it is first needed.
  .python$dpsparse <- reticulate::import("dpsparse", delay_load = TRUE, convert = FALSE)
}

#' Whether the Python package can be used
#'
#' @return `TRUE` or `FALSE`.
#' @export
#' @examples
#' dp_available()
dp_available <- function() {
  reticulate::py_module_available("dpsparse") && reticulate::py_module_available("pandas")
}

#' @importFrom generics tidy
#' @export
generics::tidy

#' @importFrom generics glance
#' @export
generics::glance

#' @importFrom generics augment
#' @export
generics::augment
