people <- data.frame(
  age = c(30, NA), income = c(0, 9), region = factor(c("north", NA)), cost = 1:2, `house size` = 1:2, check.names = FALSE
)
text <- function(formula, apart = NULL) .read_formula(formula, people, apart)$text

test_that("formulas become Python's", {
  expect_equal(text(cost ~ age + log1p(income) + region), "cost ~ age + log1p(income) + region")
  expect_equal(text(log(cost) ~ age * region - income), "log(cost) ~ age * region - income")
  expect_equal(text(cost ~ I(age^2) + I(-age >= 0.1)), "cost ~ I(age ** 2) + I(-age >= 0.1)")
  expect_equal(text(cost ~ age:I(region == "a \"b\"")), "cost ~ age : I(region == \"a \\\"b\\\"\")")
  expect_equal(text(cost ~ factor(age) + `house size`), "cost ~ C(age) + `house size`")
  spline <- "cost ~ bs(age, knots=[30, 50], lower=0, upper=110)"
  expect_equal(text(cost ~ bs(age, knots = c(30, 50), lower = 0, upper = 110)), spline)
  expect_match(text(cost ~ bs(age, knots = 50, lower = 0, upper = 110)), "knots=[50]", fixed = TRUE)
  expect_equal(text(cost ~ (age + income)^2), "cost ~ (age + income) ** 2")
})

test_that("a dot is all other columns", {
  expect_equal(text(cost ~ .), "cost ~ (age + income + region + `house size`)")
  expect_equal(text(cost ~ . + I(age^2), "house size"), "cost ~ (age + income + region) + I(age ** 2)")
  expect_equal(names(.read_formula(cost ~ age, people, "income")$columns), c("cost", "age", "income"))
})

test_that("what would read other records is refused", {
  skip_if_not(dp_available(), "the Python package dpsparse is not installed")
  terms <- c("scale(age)", "poly(age, 2)", "splines::ns(age)", "I(age - mean(age))", "cut(age, 3)", "bs(age, df = 4)")
  for (term in terms) {
    expect_error(dp_lm(stats::as.formula(paste("cost ~ income +", term)), people), "formula: ")
  }
  expect_error(dp_lm(scale(cost) ~ age, people), "reads other records")
  expect_error(dp_lm(cost ~ I(age[1]), people), "the formula has '\\['")
  expect_error(dp_lm(cost ~ height, people), "no column 'height'")
  expect_error(dp_lm(~age, people), "must have a response")
})

test_that("a mistyped column is guessed", {
  expect_error(.read_formula(csot ~ age, people), "no column 'csot'; did you mean 'cost'?", fixed = TRUE)
  expect_error(.read_formula(cost ~ regoin, people), "did you mean 'region'?", fixed = TRUE)
  expect_error(.read_formula(cost ~ age, people, "incme"), "did you mean 'income'?", fixed = TRUE)
  expect_error(.read_formula(cost ~ height, people), "no column 'height'$")
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

test_that("a date of any year is read, or a gap", {
  skip_if_not(dp_available(), "the Python package dpsparse is not installed")
  for (since in c(-719162, 2932896, 1e7, NA)) {
    days <- .as_python(as.Date("1970-01-01") + c(since, 0))
    expect_equal(reticulate::py_to_r(days$dtype$kind), "M")
    expect_equal(reticulate::py_to_r(days$isna()$tolist())[[2]], FALSE)
  }
})

test_that("a checkout is installed by its path", {
  asked <- NULL
  install <- reticulate::py_install
  utils::assignInNamespace("py_install", function(...) asked <<- list(...), "reticulate")
  on.exit(utils::assignInNamespace("py_install", install, "reticulate"))
  dp_install("path/to/checkout[data]")
  expect_identical(asked, list("path/to/checkout[data]", pip = TRUE))
})

test_that("families without a private fit are refused", {
  expect_error(dp_glm(cost ~ age, people, family = stats::Gamma), "family must be binomial")
  expect_error(dp_glm(cost ~ age, people, family = stats::binomial("probit")), "family must be binomial")
})
