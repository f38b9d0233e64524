skip_if_not(dp_available(), "the Python package dpsparse is not installed")

set.seed(7)
n <- 6000
people <- data.frame(
  age = rnorm(n, 50, 15), smoker = runif(n) < 0.2,
  region = factor(sample(c("north", "south", "east"), n, TRUE)), seen = as.Date("2024-01-01") + sample(700, n, TRUE)
)
people$cost <- 100 * people$age + 9000 * people$smoker + 4000 * (people$region == "east") + 1000 * rnorm(n)
people$age[1:40] <- NA
people$region[41:80] <- NA
people$ill <- ifelse(runif(n) < plogis(2 * people$smoker - 1), "yes", "no")
# Seeded, so that no chance can fail a test.
fit <- suppressWarnings(dp_lm(cost ~ age + smoker + region + seen, people, epsilon = 8, random_state = 1L))
odds <- suppressWarnings(dp_glm(ill ~ smoker + age, people, positive = "yes", epsilon = 8, sparsity = 2, random_state = 1L))

test_that("effects are near those of lm, and what broom documents", {
  rows <- tidy(fit, conf.int = TRUE)
  expect_true(all(c("term", "estimate", "std.error", "statistic", "p.value", "conf.low", "conf.high") %in% names(rows)))
  reference <- coef(lm(cost ~ age + smoker + region, people))
  at <- match(c("age", "smoker"), rows$term)
  expect_equal(rows$estimate[at], unname(reference[c("age", "smokerTRUE")]), tolerance = 0.1)
  expect_equal(glance(fit)$nobs, n)
  expect_equal(nrow(glance(fit)), 1)
})

test_that("the methods of lm agree with each other", {
  rows <- tidy(fit)
  expect_equal(unname(coef(fit)), rows$estimate)
  expect_equal(unname(sqrt(diag(vcov(fit)))), rows$std.error)
  expect_equal(unname(confint(fit)[, 1]), rows$estimate - qnorm(0.975) * rows$std.error)
  expect_equal(dim(confint(fit, "age", level = 0.9)), c(1, 2))
  expect_equal(nobs(fit), n)
  expect_output(print(fit), "NOT PRIVATE")
  expect_output(print(summary(fit)), "95 % interval")
})

test_that("a model holds no records, however it was called", {
  called <- function(people) {
    formula <- cost ~ age + smoker
    suppressWarnings(list(
      do.call(dp_lm, list(formula, people)),
      do.call("dp_lm", list(formula, data = people)),
      eval(bquote(dp_lm(cost ~ age + smoker, .(people)[, ]))),
      dp_lm(cost ~ age + smoker, people)
    ))
  }
  for (model in called(people)) {
    expect_lt(length(serialize(model, NULL)), 60000)
    expect_lt(sum(nchar(capture.output(print(model)))), 2000)
  }
  expect_equal(model$call, quote(dp_lm(formula = cost ~ age + smoker, data = people)))
})

test_that("predictions are of the records that are given", {
  beside <- augment(fit, head(people, 100))
  expect_equal(names(beside), c(names(people), ".fitted"))
  expect_equal(beside$.fitted, predict(fit, head(people, 100)))
  expect_gt(cor(predict(fit, people), people$cost), 0.9)
  expect_error(predict(fit), "keeps no records")
  chances <- predict(odds, people)
  expect_true(all(chances >= 0 & chances <= 1))
})

test_that("odds ratios are exponentials, and differences are none", {
  expect_equal(tidy(odds, exponentiate = TRUE)$estimate, exp(unname(coef(odds))))
  expect_error(tidy(fit, exponentiate = TRUE), "no logarithms")
  expect_gt(exp(coef(odds)[grepl("smoker", names(coef(odds)))])[[1]], 3)
})

test_that("counts have rate ratios", {
  people$years <- runif(n, 0.5, 2)
  people$visits <- rpois(n, people$years * exp(0.7 * people$smoker))
  counts <- suppressWarnings(dp_glm(visits ~ smoker + age, people,
    family = poisson, exposure = "years", epsilon = 8, sparsity = 1, random_state = 1L
  ))
  expect_equal(counts$ratio, "rate ratio")
  expect_equal(unname(coef(counts)), 0.7, tolerance = 0.2)
  expect_gt(cor(predict(counts, people), people$years), 0.5)
})

test_that("a model keeps its formula", {
  curved <- suppressWarnings(dp_lm(log1p(abs(cost)) ~ age * smoker + I(age^2) + factor(region), people,
    epsilon = 8, sparsity = 3, random_state = 1L
  ))
  expect_equal(curved$glance$target, "log1p(abs(cost))")
  expect_true(all(curved$columns %in% names(people)))
  expect_length(predict(curved, head(people)), 6)
  records <- people
  records$age <- NULL
  expect_error(predict(fit, records), "no column 'age'")
  # A function of the caller's stands in for none of Python's.
  log1p <- function(x) stop("never called")
  expect_length(coef(suppressWarnings(dp_lm(cost ~ log1p(age), people, sparsity = 1, random_state = 1L))), 1)
})

test_that("rows of a person count together", {
  visits <- people[rep(seq_len(2000), 2), ]
  visits$patient <- rep(sprintf("p%04d", seq_len(2000)), 2)
  by_person <- suppressWarnings(dp_lm(cost ~ age + smoker, visits,
    person = "patient", epsilon = 8, sparsity = 2, random_state = 1L
  ))
  expect_equal(c(nobs(by_person), glance(by_person)$people), c(4000, 2000))
  expect_false("patient" %in% by_person$columns)
  expect_error(dp_lm(cost ~ age, people, person = "nobody"), "no column 'nobody'")
})

test_that("a cost has two parts", {
  people$claim <- ifelse(runif(n) < plogis(people$smoker), 500 + 300 * people$smoker + 50 * rexp(n), 0)
  claims <- suppressWarnings(dp_two_part(claim ~ smoker + age, people, epsilon = 8, sparsity = 1, random_state = 1L))
  expect_equal(class(claims$whether), c("dp_glm", "dp_lm"))
  expect_equal(claims$whether$ratio, "odds ratio")
  expect_equal(unname(sqrt(diag(vcov(claims)))), tidy(claims)$std.error)
  expect_equal(unname(coef(claims$how.much)["smoker"]), 300, tolerance = 0.2)
  expect_gt(cor(predict(claims, people), people$smoker), 0.9)
  path <- tempfile(fileext = ".json")
  dp_save(claims, path)
  expect_equal(tidy(dp_load(path)$whether), tidy(claims$whether))
})

# As the pages of modelsummary ("Adding new models") and of gtsummary's broom.helpers document them.
test_that("tidy and glance are what modelsummary and gtsummary ask for", {
  for (model in list(fit, odds)) {
    rows <- tidy(model, conf.int = TRUE, conf.level = 0.9, exponentiate = FALSE)
    expect_s3_class(rows, "data.frame")
    expect_type(rows$term, "character")
    expect_false(anyDuplicated(rows$term) > 0)
    for (name in c("estimate", "std.error", "statistic", "p.value", "conf.low", "conf.high")) {
      expect_type(rows[[name]], "double")
    }
    expect_equal(names(coef(model)), rows$term)
    expect_equal(dimnames(vcov(model)), list(rows$term, rows$term))
    facts <- glance(model)
    expect_equal(nrow(facts), 1)
    expect_true(all(vapply(facts, is.numeric, TRUE)))
    expect_equal(facts$nobs, nobs(model))
  }
  skip_if_not_installed("broom")
  expect_equal(broom::tidy(fit), tidy(fit))
  expect_equal(broom::glance(fit), glance(fit))
})

test_that("a model survives files and saveRDS", {
  path <- tempfile(fileext = ".json")
  dp_save(fit, path)
  again <- dp_load(path)
  expect_equal(tidy(again), tidy(fit))
  expect_equal(class(dp_load({
    dp_save(odds, path)
    path
  })), c("dp_glm", "dp_lm"))
  saveRDS(fit, path)
  expect_equal(predict(readRDS(path), head(people)), predict(fit, head(people)))
})

test_that("it is drawn", {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_invisible(plot(fit))
  expect_invisible(plot(odds))
  expect_invisible(plot(dp_plan(5000, 10, 3)))
})

test_that("a budget is granted, spent and shown", {
  ledger <- tempfile(fileext = ".db")
  dp_budget(ledger, "trial", epsilon = 3, delta = 1e-4)
  dp_lm(cost ~ age + smoker, people, epsilon = 1, delta = 1e-5, sparsity = 2, ledger = ledger, dataset = "trial")
  shown <- dp_budget(ledger)
  expect_equal(shown$dataset, "trial")
  expect_equal(shown$fits, 1)
  expect_gt(shown$epsilon.spent, 0.5)
  expect_error(
    dp_lm(cost ~ age, people, epsilon = 9, delta = 1e-5, ledger = ledger, dataset = "trial"), "BudgetExceeded|budget"
  )
})

test_that("a forecast needs public numbers alone", {
  plan <- dp_plan(10000, 20, 3, epsilon = 0.7)
  expect_true(0.7 %in% plan$epsilon)
  expect_true(all(diff(plan$expected.error) <= 0))
})
