#' Forecast a fit
#'
#' What a budget buys, from public numbers alone, before any of it is spent.
#'
#' @param n,d,sparsity Records, features, and features to select.
#' @param epsilon,delta The guarantee; `NULL` for a delta of `n^-1.1`.
#' @param ... Further arguments of `plan` in Python, such as `share_of_yes`.
#' @param x A forecast.
#' @return A data frame with one row for each of some epsilons: the error to expect, the effect
#'   that is selected in 4 fits of 5, the minimum detectable effect (significant with 80 % power) and
#'   the width of a 95 % interval.
#' @export
#' @examples
#' if (dp_available()) dp_plan(10000, 20, 3, epsilon = 1)
dp_plan <- function(n, d, sparsity, epsilon = 1, delta = NULL, ...) {
  unit <- ""
  at <- function(each) {
    plan <- .python$dpsparse$plan(as.integer(n), as.integer(d), as.integer(sparsity), each, delta, ...)
    number <- function(name) reticulate::py_to_r(plan[[name]])
    unit <<- number("unit")
    data.frame(
      epsilon = each, expected.error = number("expected_error"), smallest.effect = number("smallest_effect"),
      detectable.effect = number("minimum_detectable_effect"), interval.width = number("interval_width")
    )
  }
  rows <- lapply(sort(unique(c(0.1, 0.25, 0.5, 1, 2, 4, epsilon))), at)
  structure(do.call(rbind, rows), class = c("dp_plan", "data.frame"), epsilon = epsilon, unit = unit)
}

#' @rdname dp_plan
#' @export
plot.dp_plan <- function(x, ...) {
  found <- is.finite(x$smallest.effect)
  heights <- c(x$expected.error, x$smallest.effect[found])
  graphics::plot(x$epsilon, x$expected.error,
    log = "xy", type = "l", ylim = range(heights), xlab = "epsilon", ylab = attr(x, "unit"), ...
  )
  graphics::lines(x$epsilon[found], x$smallest.effect[found], lty = 2)
  graphics::abline(v = attr(x, "epsilon"), lty = 3)
  graphics::legend("topright", c("expected error", "effect selected in 4 fits of 5"),
    lty = 1:2, bg = "white", box.col = "white", inset = 0.02
  )
  invisible(x)
}

#' Grant and show a budget
#'
#' @param ledger A file, or the URL of a database.
#' @param dataset The name of the records; `NULL` shows all.
#' @param epsilon,delta The budget to grant, once; `NULL` to grant nothing.
#' @return A data frame with one row for each dataset: what was granted, spent and is left.
#' @export
#' @examples
#' if (dp_available()) {
#'   ledger <- tempfile(fileext = ".db")
#'   dp_budget(ledger, "trial-7", epsilon = 3, delta = 1e-6)
#' }
dp_budget <- function(ledger, dataset = NULL, epsilon = NULL, delta = NULL) {
  book <- .python$dpsparse$PrivacyLedger(path.expand(ledger))
  if (!is.null(epsilon)) {
    if (is.null(dataset) || is.null(delta)) stop("a grant needs dataset, epsilon and delta", call. = FALSE)
    book$grant(dataset, epsilon = epsilon, delta = delta)
  }
  facts <- reticulate::import("dpsparse.report.budget_facts", convert = FALSE)$balance_facts
  state <- book$state()
  names <- if (is.null(dataset)) {
    sort(as.character(unlist(reticulate::py_to_r(reticulate::import_builtins(FALSE)$list(state$filters)))))
  } else {
    reticulate::py_to_r(state$name_of(dataset))
  }
  rows <- lapply(names, function(name) {
    row <- reticulate::py_to_r(facts(state, name))
    data.frame(
      dataset = name, epsilon = row$epsilon, delta = row$delta, fits = row$fits,
      epsilon.spent = row$epsilon_spent, epsilon.left = row$epsilon_left
    )
  })
  do.call(rbind, rows)
}
