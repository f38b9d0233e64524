people <- data.frame(age = c(30, NA), income = c(0, 9), region = factor(c("north", NA)), cost = 1:2)

test_that("terms are columns and row-wise functions of them", {
  parsed <- .model_columns(cost ~ age + log1p(income) + region, people)
  expect_equal(names(parsed$columns), c("cost", "age", "log1p(income)", "region"))
  expect_equal(parsed$columns[["log1p(income)"]], log1p(c(0, 9)))
  expect_equal(names(.model_columns(cost ~ ., people)$columns), c("cost", "age", "income", "region"))
  expect_equal(names(.model_columns(cost ~ I(age * income), people)$columns)[2], "I(age * income)")
})

test_that("what would read other records is refused", {
  for (term in c("scale(age)", "poly(age, 2)", "splines::ns(age)", "factor(region)", "age - mean(age)", "cut(age, 3)")) {
    formula <- stats::as.formula(paste("cost ~ income + I(", term, ")"))
    expect_error(.model_columns(formula, people), "may read other records")
  }
  expect_error(.model_columns(scale(cost) ~ age, people), "may read other records")
  expect_error(.model_columns(cost ~ age:income, people), "write products as")
  expect_error(.model_columns(cost ~ height, people), "no column 'height'")
  expect_error(.model_columns(~age, people), "must have a response")
})

test_that("a function of the caller's does not stand in for a row-wise one", {
  log1p <- function(x) rep(mean(x), length(x))
  expect_equal(.model_columns(cost ~ log1p(income), people)$columns[[2]], base::log1p(c(0, 9)))
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
