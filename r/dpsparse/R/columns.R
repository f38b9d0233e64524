# Functions of one record's own cells: whatever reads other records, such as scale or poly, is refused.
.row_wise <- c(
  "+", "-", "*", "/", "^", "(", "I", "abs", "exp", "expm1", "log", "log10", "log1p", "log2", "sqrt",
  "==", "!=", "<", "<=", ">", ">=", "&", "|", "!"
)

# Refuse a term with any call that is not row-wise.
.check_row_wise <- function(term) {
  if (is.call(term)) {
    name <- paste(deparse(term[[1]]), collapse = " ")
    if (!name %in% .row_wise) {
      stop("'", name, "' in the formula may read other records, which is no release: use row-wise functions (",
        "log1p, sqrt, I, ...), or compute it from public numbers beforehand", call. = FALSE)
    }
    lapply(as.list(term)[-1], .check_row_wise)
  } else if (!is.name(term) && !is.numeric(term) && !is.character(term) && !is.logical(term)) {
    stop("a formula has the names of columns, numbers and row-wise functions of them", call. = FALSE)
  }
  invisible(TRUE)
}

# The terms of a formula's right side: names of columns, or row-wise calls.
.terms_of <- function(side) {
  if (is.call(side) && identical(side[[1]], as.name("+"))) {
    if (length(side) == 2) return(.terms_of(side[[2]]))
    return(c(.terms_of(side[[2]]), .terms_of(side[[3]])))
  }
  if (is.call(side) && as.character(side[[1]])[1] %in% c(":", "*", "%in%", "|", "-", "^")) {
    stop("the formula has '", paste(deparse(side), collapse = " "), "': write products as I(a * b), and name the ",
      "columns that you want", call. = FALSE)
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
  lapply(c(list(response), terms), .check_row_wise)
  missing <- setdiff(unlist(lapply(c(list(response), terms), all.vars)), names(data))
  if (length(missing)) stop("data has no column '", missing[1], "'", call. = FALSE)
  labels <- vapply(c(list(response), terms), function(term) paste(deparse(term, backtick = FALSE), collapse = " "), "")
  # Evaluated with base functions alone, so that no function of the caller's stands in for one of them. That NaN was
  # made of a cell, as log warns, is something of a record.
  columns <- suppressWarnings(lapply(c(list(response), terms), function(term) eval(term, data, baseenv())))
  names(columns) <- labels
  list(columns = columns[!duplicated(labels)], target = labels[1])
}

# One column for pandas: NA becomes a gap, whatever the type; levels of factors are not passed on.
.as_python <- function(column) {
  pandas <- reticulate::import("pandas", convert = FALSE)
  if (inherits(column, "I")) column <- unclass(column)
  if (is.factor(column)) column <- as.character(column)
  if (inherits(column, c("Date", "POSIXt"))) {
    # A year that pandas does not know is a gap; an error would show the cell.
    text <- "%Y-%m-%dT%H:%M:%S"
    return(pandas$to_datetime(reticulate::r_to_py(.with_none(format(column, text))), format = text, errors = "coerce"))
  }
  if (is.numeric(column)) return(pandas$Series(reticulate::r_to_py(as.list(as.double(column))), dtype = "float64"))
  if (is.logical(column)) return(pandas$Series(reticulate::r_to_py(.with_none(column)), dtype = "boolean"))
  pandas$Series(reticulate::r_to_py(.with_none(as.character(column))), dtype = "object")
}

.with_none <- function(values) {
  values <- as.list(values)
  values[vapply(values, is.na, TRUE)] <- list(NULL)
  unname(values)
}

# A frame of pandas.
.as_frame <- function(columns) {
  pandas <- reticulate::import("pandas", convert = FALSE)
  frame <- reticulate::dict()
  for (name in names(columns)) frame[[name]] <- .as_python(columns[[name]])
  pandas$DataFrame(frame)
}
