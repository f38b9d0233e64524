# Formulas are Python's: which terms read one record alone, which make one variable, and which would read other records
# and are refused, is decided there. Here R's way to write them becomes Python's.

.operators <- c(
  "+" = "+", "-" = "-", "*" = "*", "/" = "/", "^" = "**", ":" = ":", "==" = "==", "!=" = "!=", "<" = "<", "<=" = "<=",
  ">" = ">", ">=" = ">="
)
# Functions that Python has by another name.
.renamed <- c(factor = "C", as.factor = "C")

# A part of a formula as Python writes it.
.python_text <- function(part) {
  if (is.name(part)) return(.python_name(as.character(part)))
  if (is.character(part)) return(encodeString(part, quote = "\""))
  if (is.logical(part)) return(if (isTRUE(part)) "True" else "False")
  # Seventeen digits are every digit of a number.
  if (is.numeric(part)) return(format(part, digits = if (as.numeric(format(part, digits = 15)) == part) 15 else 17))
  if (!is.call(part)) stop("a formula has the names of columns, numbers and functions of them", call. = FALSE)
  # A function of a package is refused, or taken, by its own name.
  named <- if (is.call(part[[1]]) && length(part[[1]]) == 3) part[[1]][[3]] else part[[1]]
  name <- as.character(named)[1]
  inside <- vapply(as.list(part)[-1], .python_text, "")
  if (name == "(") return(paste0("(", inside, ")"))
  if (name %in% names(.operators)) {
    sign <- .operators[[name]]
    return(if (length(inside) == 1) paste0(sign, inside) else paste(inside[1], sign, inside[2]))
  }
  if (name == "c") return(paste0("[", paste(inside, collapse = ", "), "]"))
  if (!grepl("^[[:alpha:]][[:alnum:]_.]*$", name)) {
    stop("the formula has '", name, "': a term has columns, numbers, arithmetic, comparisons and functions of one number",
      call. = FALSE)
  }
  given <- names(inside)
  # One number is a vector in R, and no list in Python.
  single <- given == "knots" & !startsWith(inside, "[")
  inside[single] <- paste0("[", inside[single], "]")
  if (!is.null(given)) inside <- paste0(given, ifelse(nzchar(given), "=", ""), inside)
  paste0(if (name %in% names(.renamed)) .renamed[[name]] else name, "(", paste(inside, collapse = ", "), ")")
}

# A column's name, in backticks where it is none of Python's.
.python_name <- function(name) if (grepl("^[[:alpha:]_][[:alnum:]_]*$", name)) name else paste0("`", name, "`")

# The formula as Python writes it, and the columns that it needs; a dot is all columns but those of the response and
# `apart`.
.read_formula <- function(formula, data, apart = NULL) {
  if (!inherits(formula, "formula") || length(formula) != 3) {
    stop("formula must have a response and features, such as cost ~ age + region", call. = FALSE)
  }
  if (!is.data.frame(data)) stop("data must be a data frame", call. = FALSE)
  missing <- setdiff(c(setdiff(all.vars(formula), "."), apart), names(data))
  if (length(missing)) stop(.no_column(missing[1], names(data)), call. = FALSE)
  features <- formula[[3]]
  if ("." %in% all.vars(features)) {
    others <- lapply(setdiff(names(data), c(all.vars(formula[[2]]), apart)), as.name)
    dot <- Reduce(function(left, right) call("+", left, right), others)
    features <- do.call(substitute, list(features, list(. = call("(", dot))))
  }
  list(
    text = paste(.python_text(formula[[2]]), "~", .python_text(features)),
    columns = data[unique(c(all.vars(formula[[2]]), all.vars(features), apart))]
  )
}

# That a name is no column, and what it may be meant to be. Python's own sentence would need Python to be there.
.no_column <- function(name, columns) {
  edits <- drop(utils::adist(name, columns, ignore.case = TRUE))
  # Two letters that changed places are two edits: half of a name of four.
  near <- columns[which.min(edits)][min(edits, Inf) <= nchar(name) / 2]
  guess <- if (length(near)) paste0("; did you mean '", near, "'?") else ""
  paste0("data has no column '", name, "'", guess)
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
