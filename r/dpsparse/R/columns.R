# Functions of one record's own cells: whatever reads other records, such as scale or poly, is refused.
.row_wise <- c(
  "+", "-", "*", "/", "^", "(", "I", "abs", "exp", "expm1", "log", "log10", "log1p", "log2", "sqrt",
  "==", "!=", "<", "<=", ">", ">=", "&", "|", "!"
)

# A spline with public knots is row-wise too: bs(age, knots = c(30, 50, 70), lower = 0, upper = 110).
.is_spline <- function(term) is.call(term) && identical(term[[1]], as.name("bs"))

# Refuse a term with any call that is not row-wise.
.check_row_wise <- function(term) {
  if (.is_spline(term)) {
    .spline_numbers(term)
    .check_row_wise(term[[2]])
  } else if (is.call(term)) {
    name <- paste(deparse(term[[1]]), collapse = " ")
    if (!name %in% .row_wise) {
      stop("'", name, "' in the formula may read other records, which is no release: use row-wise functions (",
        "log1p, sqrt, I, ...), bs(age, knots = c(30, 50, 70), lower = 0, upper = 110) with public knots, or compute it ",
        "from public numbers beforehand", call. = FALSE)
    }
    lapply(as.list(term)[-1], .check_row_wise)
  } else if (!is.name(term) && !is.numeric(term) && !is.character(term) && !is.logical(term)) {
    stop("a formula has the names of columns, numbers and row-wise functions of them", call. = FALSE)
  }
  invisible(TRUE)
}

# The same of a whole term, which may be a product. Within a function a colon would be R's sequence.
.check_term <- function(term) {
  operator <- if (is.call(term)) as.character(term[[1]])[1] else ""
  if (operator == ":") {
    lapply(as.list(term)[-1], .check_term)
  } else {
    .check_row_wise(if (operator == "[" && .is_spline(term[[2]]) && is.numeric(term[[3]])) term[[2]] else term)
  }
}

# The public numbers of a spline: lower, knots, upper.
.spline_numbers <- function(term) {
  given <- as.list(term)[-(1:2)]
  limits <- if (setequal(names(given), c("knots", "lower", "upper"))) {
    tryCatch(
      as.numeric(unlist(lapply(given[c("lower", "knots", "upper")], eval, envir = list(), enclos = baseenv()))),
      error = function(unknown) NA
    )
  }
  if (is.null(limits) || anyNA(limits) || !all(is.finite(limits)) || any(diff(limits) <= 0)) {
    stop("bs needs public numbers that increase: bs(age, knots = c(30, 50, 70), lower = 0, upper = 110)", call. = FALSE)
  }
  limits
}

# Cubic B-splines; numbers beyond the limits are at them, and the first one follows from the others and the constant.
.spline <- function(term, data) {
  limits <- .spline_numbers(term)
  values <- .number(term[[2]], data)
  lower <- limits[1]
  upper <- limits[length(limits)]
  inside <- pmin(pmax(ifelse(is.na(values), lower, values), lower), upper)
  basis <- splines::splineDesign(c(rep(lower, 3), limits, rep(upper, 3)), inside, ord = 4)[, -1, drop = FALSE]
  basis[is.na(values), ] <- NA
  lapply(seq_len(ncol(basis)), function(k) basis[, k])
}

# The values of a term, from each record's own cells. Functions are those of base R alone, so that none of the caller's
# stands in for one of them.
.value <- function(term, data) {
  if (is.call(term) && identical(term[[1]], as.name("[")) && .is_spline(term[[2]])) {
    return(.spline(term[[2]], data)[[term[[3]]]])
  }
  if (is.call(term) && identical(term[[1]], as.name(":"))) {
    return(.number(term[[2]], data) * .number(term[[3]], data))
  }
  # A warning would tell that some record has a number below 0.
  suppressWarnings(eval(term, data, baseenv()))
}

.number <- function(term, data) {
  values <- .value(term, data)
  if (!is.numeric(values) && !is.logical(values)) {
    stop("'", .label(term), "' in a product is no number: name a public category, such as age:I(sex == \"m\")",
      call. = FALSE)
  }
  as.numeric(values)
}

.label <- function(term) paste(trimws(deparse(term, width.cutoff = 500, backtick = FALSE)), collapse = " ")

# The terms of a formula's right side; a * b stands for both and their product.
.terms_of <- function(side) {
  operator <- if (is.call(side)) as.character(side[[1]])[1] else ""
  if (operator == "+") {
    if (length(side) == 2) return(.terms_of(side[[2]]))
    return(c(.terms_of(side[[2]]), .terms_of(side[[3]])))
  }
  if (operator == "*") {
    return(c(.terms_of(side[[2]]), .terms_of(side[[3]]), list(call(":", side[[2]], side[[3]]))))
  }
  if (operator %in% c("%in%", "|", "-", "^")) {
    stop("the formula has '", .label(side), "': write products as a:b or a * b, and name the columns that you want",
      call. = FALSE)
  }
  list(side)
}

# The response and the features of a formula: a data frame, and the name of its response.
.model_columns <- function(formula, data) {
  if (!inherits(formula, "formula") || length(formula) != 3) {
    stop("formula must have a response and features, such as cost ~ age + region", call. = FALSE)
  }
  if (!is.data.frame(data)) stop("data must be a data frame", call. = FALSE)
  response <- formula[[2]]
  names <- setdiff(names(data), all.vars(response))
  terms <- .terms_of(formula[[3]])
  if (any(vapply(terms, identical, TRUE, as.name(".")))) {
    terms <- c(lapply(names, as.name), Filter(function(term) !identical(term, as.name(".")), terms))
  }
  lapply(c(list(response), terms), .check_term)
  missing <- setdiff(unlist(lapply(c(list(response), terms), all.vars)), names(data))
  if (length(missing)) stop("data has no column '", missing[1], "'", call. = FALSE)
  columns <- list()
  for (term in c(list(response), terms)) {
    label <- .label(term)
    values <- if (.is_spline(term)) .spline(term, data) else list(.value(term, data))
    names(values) <- if (.is_spline(term)) paste0(label, "[", seq_along(values), "]") else label
    columns <- c(columns, values[!names(values) %in% names(columns)])
  }
  list(columns = columns, target = .label(response))
}

# A column that the formula does not name goes along: whose records they are, or what counts are in proportion to.
.with_column <- function(parsed, data, name) {
  if (is.null(name)) return(parsed)
  if (!name %in% names(data)) stop("data has no column '", name, "'", call. = FALSE)
  parsed$columns[[name]] <- data[[name]]
  parsed
}

# One column for pandas: NA becomes a gap, whatever the type; levels of factors are not passed on.
.as_python <- function(column) {
  if (inherits(column, "I")) column <- unclass(column)
  if (is.factor(column)) column <- as.character(column)
  pandas <- reticulate::import("pandas", convert = FALSE)
  if (inherits(column, c("Date", "POSIXt"))) {
    # A year that pandas does not know is a gap; an error would show the cell.
    text <- "%Y-%m-%dT%H:%M:%S"
    return(pandas$to_datetime(.texts(format(column, text)), format = text, errors = "coerce"))
  }
  if (is.numeric(column)) return(.numbers(column))
  if (is.logical(column)) return(.numbers(column)$astype("boolean"))
  .texts(as.character(column))
}

# Bytes pass at once, where a list would take a minute for a million numbers.
.numbers <- function(values) {
  numpy <- reticulate::import("numpy", convert = FALSE)
  bytes <- reticulate::r_to_py(writeBin(as.double(values), raw()))
  # R's NA is a NaN of its own; a copy, for the bytes are R's.
  reticulate::import("pandas", convert = FALSE)$Series(numpy$frombuffer(bytes, dtype = "float64")$copy())
}

.texts <- function(values) {
  there <- .numbers(!is.na(values))$astype("bool")
  values[is.na(values)] <- ""
  # A vector of one would be no list.
  texts <- reticulate::r_to_py(if (length(values) == 1) as.list(values) else enc2utf8(values))
  reticulate::import("pandas", convert = FALSE)$Series(texts, dtype = "object")$where(there, NULL)
}

# A frame of pandas.
.as_frame <- function(columns) {
  pandas <- reticulate::import("pandas", convert = FALSE)
  frame <- reticulate::dict()
  for (name in names(columns)) frame[[name]] <- .as_python(columns[[name]])
  pandas$DataFrame(frame)
}
