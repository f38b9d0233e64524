#' Differentially private sparse regression
#'
#' One line sets it up: `dpsparse::dp_install()`. Then [dp_plan()] forecasts what a budget buys,
#' [dp_lm()], [dp_glm()] and [dp_two_part()] fit, and [dp_budget()] shows what a ledger has left.
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

#' Set up the Python package
#'
#' Installs it where reticulate looks for Python, once: from PyPI, or from a checkout. [dp_available()] tells whether it is there.
#'
#' @param package What pip is to install: the package, or the path of a checkout followed by `[data]`.
#' @param ... Further arguments of [reticulate::py_install()].
#' @return Nothing.
#' @export
#' @examples
#' \dontrun{
#' dp_install()
#' dp_install("path/to/checkout[data]")
#' }
dp_install <- function(package = "dpsparse[data]", ...) {
  reticulate::py_install(package, pip = TRUE, ...)
  invisible()
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
