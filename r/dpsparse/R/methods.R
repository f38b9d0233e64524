#' Methods of private models
#'
#' The methods of `lm` and of broom. All but `predict` and `augment` are of released numbers; these
#' read the records that you give them.
#'
#' @param x,object A model of [dp_lm()] or [dp_glm()].
#' @param conf.int,conf.level Whether to add intervals, and of which level.
#' @param exponentiate Whether to give ratios where effects are logarithms, such as odds ratios.
#' @param parm Which effects; `NULL` for all.
#' @param level The level of the intervals.
#' @param newdata,data Your own records.
#' @param type `"response"`: means, or probabilities of yes.
#' @param ... Not used.
#' @return `tidy`, `glance` and `augment` give data frames with the columns that broom documents.
#'   Effects that are not reliable have `NA` for errors; `reason` says why.
#' @name dp-methods
NULL

#' @rdname dp-methods
#' @export
print.dp_lm <- function(x, ...) {
  if (!is.null(x$call)) cat("Call: ", paste(deparse(x$call), collapse = "\n"), "\n\n", sep = "")
  print(tidy(x, conf.int = TRUE), row.names = FALSE, digits = 4)
  cat("\n", .guarantee(x), "\n", sep = "")
  invisible(x)
}

.guarantee <- function(x) {
  if (!isTRUE(x$glance$private)) return("NOT PRIVATE: the noise was seeded.")
  sprintf("Differentially private: epsilon %.4g, delta %.3g, %s records.", x$glance$epsilon, x$glance$delta,
    format(x$glance$nobs, big.mark = ","))
}

#' @rdname dp-methods
#' @export
summary.dp_lm <- function(object, ...) structure(list(text = object$summary), class = "summary.dp_lm")

#' @rdname dp-methods
#' @export
print.summary.dp_lm <- function(x, ...) {
  cat(x$text, "\n", sep = "")
  invisible(x)
}

#' @rdname dp-methods
#' @export
coef.dp_lm <- function(object, ...) stats::setNames(object$effects$estimate, object$effects$term)

#' @rdname dp-methods
#' @export
vcov.dp_lm <- function(object, ...) object$vcov

#' @rdname dp-methods
#' @export
nobs.dp_lm <- function(object, ...) as.integer(object$glance$nobs)

#' @rdname dp-methods
#' @export
confint.dp_lm <- function(object, parm = NULL, level = 0.95, ...) {
  half <- stats::qnorm((1 + level) / 2) * object$effects$std_error
  ends <- cbind(object$effects$estimate - half, object$effects$estimate + half)
  dimnames(ends) <- list(object$effects$term, paste(format(100 * c((1 - level) / 2, (1 + level) / 2)), "%"))
  if (is.null(parm)) ends else ends[parm, , drop = FALSE]
}

#' @rdname dp-methods
#' @export
tidy.dp_lm <- function(x, conf.int = FALSE, conf.level = 0.95, exponentiate = FALSE, ...) {
  effects <- x$effects
  frame <- data.frame(
    term = effects$term, estimate = effects$estimate, std.error = effects$std_error,
    statistic = effects$statistic, p.value = effects$p_value, stringsAsFactors = FALSE
  )
  if (conf.int) frame[c("conf.low", "conf.high")] <- as.data.frame(unname(confint.dp_lm(x, level = conf.level)))
  if (exponentiate) {
    if (is.null(x$ratio)) stop("effects are differences of means, which are no logarithms of ratios", call. = FALSE)
    ends <- intersect(c("estimate", "conf.low", "conf.high"), names(frame))
    frame[ends] <- exp(frame[ends])
  }
  frame$reason <- effects$reason
  frame
}

#' @rdname dp-methods
#' @export
glance.dp_lm <- function(x, ...) {
  given <- x$glance
  frame <- data.frame(
    nobs = as.integer(given$nobs), people = as.integer(given$people), epsilon = given$epsilon, delta = given$delta, n.features = given$n_features,
    n.selected = given$n_selected, n.significant = given$n_significant, intercept = given$intercept
  )
  if (!is.na(given$spread_explained)) frame$spread.explained <- given$spread_explained
  if (!is.na(given$share_of_yes)) frame$share.of.yes <- given$share_of_yes
  frame
}

#' @rdname dp-methods
#' @export
predict.dp_lm <- function(object, newdata, type = "response", ...) {
  if (missing(newdata)) stop("newdata is missing: a private model keeps no records", call. = FALSE)
  match.arg(type, "response")
  missing <- setdiff(object$columns, names(newdata))
  if (length(missing)) stop("newdata has no column '", missing[1], "'", call. = FALSE)
  columns <- as.list(newdata[object$columns])
  # Without any effect a column tells the number of records.
  if (!length(columns)) columns <- list(record = seq_len(nrow(newdata)))
  predicted <- .as_model(object)$predict(.as_frame(columns))
  as.numeric(unlist(reticulate::py_to_r(predicted$tolist())))
}

#' @rdname dp-methods
#' @export
augment.dp_lm <- function(x, data = NULL, newdata = data, ...) {
  if (is.null(newdata)) stop("give your records as data: a private model keeps none", call. = FALSE)
  newdata$.fitted <- predict.dp_lm(x, newdata)
  newdata
}

# A name on at most three lines: of a longer one the beginning and the end, which tells categories apart.
.shown_label <- function(name, width = 28, most = 3) {
  for (letters in seq(width * most, width)) {
    end <- (letters - 3) %/% 2
    long <- nchar(name) > letters
    short <- if (long) paste0(substr(name, 1, letters - 3 - end), "...", substring(name, nchar(name) - end + 1)) else name
    # Words that are longer than a line are broken.
    pieces <- unlist(lapply(strwrap(short, width + 1), function(line) {
      substring(line, seq(1, nchar(line), width), pmin(seq(width, nchar(line) + width - 1, width), nchar(line)))
    }))
    if (length(pieces) <= most) return(paste(pieces, collapse = "\n"))
  }
  paste(pieces[seq_len(most)], collapse = "\n")
}

#' @rdname dp-methods
#' @export
plot.dp_lm <- function(x, ...) {
  frame <- tidy(x, conf.int = TRUE, exponentiate = !is.null(x$ratio))
  if (!nrow(frame)) stop("the model has no effect to draw", call. = FALSE)
  labels <- vapply(frame$term, .shown_label, "")
  lines <- strsplit(labels, "\n")
  old <- graphics::par(mar = c(4, 2 + 0.45 * max(unlist(lapply(lines, nchar))), 1, 1))
  on.exit(graphics::par(old))
  # Full dots are significant after Bonferroni's correction, hollow ones are not, crosses have no interval.
  known <- !is.na(frame$conf.low)
  significant <- known & x$effects$p_value < 0.05 / x$glance$n_features
  # Each label is in the middle of as many lines as it takes, whatever the others take.
  heights <- lengths(lines) + 0.7
  places <- sum(heights) - cumsum(heights) + heights / 2
  ends <- range(frame$estimate, frame$conf.low, frame$conf.high, as.numeric(!is.null(x$ratio)), na.rm = TRUE)
  graphics::plot(frame$estimate, places,
    xlim = ends, ylim = c(0, sum(heights)), yaxt = "n", ylab = "", log = if (is.null(x$ratio)) "" else "x",
    xlab = if (is.null(x$ratio)) "effect, 95 % interval" else paste0(x$ratio, ", 95 % interval"),
    type = "n", ...
  )
  graphics::abline(v = as.numeric(!is.null(x$ratio)), lty = 3)
  graphics::segments(frame$conf.low[known], places[known], frame$conf.high[known], places[known],
    lty = ifelse(significant[known], 1, 2)
  )
  graphics::points(frame$estimate, places, pch = ifelse(!known, 4, ifelse(significant, 19, 21)), bg = "white")
  graphics::axis(2, places, labels, las = 1, cex.axis = 0.8)
  invisible(x)
}
