people <- data.frame(age = c(30, NA), income = c(0, 9), region = factor(c("north", NA)), cost = 1:2)

test_that("terms are columns and row-wise functions of them", {
  parsed <- .model_columns(cost ~ age + log1p(income) + region, people)
  expect_equal(names(parsed$columns), c("cost", "age", "log1p(income)", "region"))
  expect_equal(parsed$columns[["log1p(income)"]], log1p(c(0, 9)))
  expect_equal(names(.model_columns(cost ~ ., people)$columns), c("cost", "age", "income", "region"))
  expect_equal(names(.model_columns(cost ~ I(age * income), people)$columns)[2], "I(age * income)")
  product <- .model_columns(cost ~ age * income + age:I(region == "north"), people)$columns
  expect_equal(names(product), c("cost", "age", "income", "age:income", "age:I(region == \"north\")"))
  expect_equal(product[[4]], c(0, NA))
  expect_equal(product[[5]], c(30, NA))
})

test_that("splines have public knots, and are those of Python", {
  ages <- data.frame(age = c(-5, 0, 20, 49.5, 70, 110, 300, NA), cost = 1)
  formula <- cost ~ bs(age, knots = c(30, 50, 70), lower = 0, upper = 110)
  basis <- .model_columns(formula, ages)$columns[-1]
  expect_length(basis, 6)
  expect_true(all(is.na(vapply(basis, function(column) column[8], 1))))
  expect_equal(basis[[6]][6:7], c(1, 1))
  again <- .value(str2lang(names(basis)[2]), ages)
  expect_equal(again, basis[[2]])
  skip_if_not(dp_available(), "the Python package dpsparse is not installed")
  frame <- reticulate::import("dpsparse", convert = FALSE)$formula_frame(
    "cost ~ bs(age, knots=[30, 50, 70], lower=0, upper=110)", .as_frame(ages)
  )[0]
  theirs <- reticulate::py_to_r(frame$to_numpy()$tolist())
  expect_equal(do.call(cbind, unname(basis))[1:7, ], do.call(rbind, theirs)[1:7, ])
  expect_error(.model_columns(cost ~ bs(age, df = 4), ages), "public numbers")
  expect_error(.model_columns(cost ~ bs(age, knots = quantile(age), lower = 0, upper = 9), ages), "public numbers")
})

test_that("warnings do not depend on the records", {
  expect_silent(.model_columns(cost ~ log(income), data.frame(income = c(-1, 2), cost = 1:2)))
})

test_that("what would read other records is refused", {
  for (term in c("scale(age)", "poly(age, 2)", "splines::ns(age)", "factor(region)", "age - mean(age)", "cut(age, 3)", "age[1]", "1:2")) {
    formula <- stats::as.formula(paste("cost ~ income + I(", term, ")"))
    expect_error(.model_columns(formula, people), "may read other records")
  }
  expect_error(.model_columns(scale(cost) ~ age, people), "may read other records")
  expect_error(.model_columns(cost ~ age:region, people), "name a public category")
  expect_error(.model_columns(cost ~ age - income, people), "write products as")
  expect_error(.model_columns(cost ~ height, people), "no column 'height'")
  expect_error(.model_columns(~age, people), "must have a response")
})

test_that("a function of the caller's does not stand in for a row-wise one", {
  log1p <- function(x) rep(mean(x), length(x))
  expect_equal(.model_columns(cost ~ log1p(income), people)$columns[[2]], base::log1p(c(0, 9)))
})

test_that("cells pass to Python as they are", {
  skip_if_not(dp_available(), "the Python package dpsparse is not installed")
  cells <- function(column) reticulate::py_to_r(.as_python(column)$astype("object")$isna()$tolist())
  for (column in list(c(1, NA), c(TRUE, NA), c("a", NA), factor(c("a", NA)), as.Date(c("2024-01-31", NA)))) {
    expect_equal(cells(column), c(FALSE, TRUE))
  }
  expect_equal(reticulate::py_to_r(.as_python("\u00e9")$tolist()), "\u00e9")
  expect_equal(reticulate::py_to_r(.as_python(c(1.5, -2))$tolist()), c(1.5, -2))
  expect_equal(reticulate::py_to_r(.as_python(as.Date("2024-01-31"))$dt$day$tolist()), 31L)
})

test_that("labels keep both ends of a name", {
  long <- .shown_label(paste(strrep("a question of many words ", 6), "and an end=No"))
  expect_match(long, "^a question")
  expect_match(long, "an end=No$")
  expect_length(strsplit(long, "\n")[[1]], 3)
  expect_equal(.shown_label("age"), "age")
  expect_true(all(nchar(strsplit(.shown_label(strrep("x", 200)), "\n")[[1]]) <= 28))
})

test_that("no warning tells of a cell", {
  odd <- data.frame(income = c(-1, 1), days = c(.Machine$integer.max, 1L), cost = 1:2)
  expect_silent(parsed <- .model_columns(cost ~ log(income) + I(days + 1L), odd))
  expect_equal(parsed$columns[[2]], c(NaN, 0))
  expect_equal(parsed$columns[[3]], c(NA, 2L), ignore_attr = TRUE)
})

test_that("a date of any year is read, or a gap", {
  skip_if_not(dp_available(), "the Python package dpsparse is not installed")
  for (since in c(-719162, 2932896, 1e7, NA)) {
    days <- .as_python(as.Date("1970-01-01") + c(since, 0))
    expect_equal(reticulate::py_to_r(days$dtype$kind), "M")
    expect_equal(reticulate::py_to_r(days$isna()$tolist())[[2]], FALSE)
  }
})

test_that("families without a private fit are refused", {
  expect_error(dp_glm(cost ~ age, people, family = stats::Gamma), "family must be binomial")
  expect_error(dp_glm(cost ~ age, people, family = stats::binomial("probit")), "family must be binomial")
})
