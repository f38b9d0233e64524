# Our model beside lm, by broom. The people are made up: coefficients of lm are not private.
library(broom)
library(dpsparse)

set.seed(1)
n <- 8000
people <- data.frame(age = rnorm(n, 50, 15), smoker = as.numeric(runif(n) < 0.2), visits = rpois(n, 2))
people$cost <- 100 * people$age + 9000 * people$smoker + 600 * people$visits + 2000 * rt(n, 3)

models <- list(
  lm = lm(cost ~ age + smoker + visits, people),
  private = dp_lm(cost ~ age + smoker + visits, people, epsilon = 1, sparsity = 3)
)
columns <- c("term", "estimate", "std.error", "conf.low", "conf.high")
rows <- lapply(names(models), function(name) {
  cbind(model = name, as.data.frame(tidy(models[[name]], conf.int = TRUE))[columns])
})
table <- do.call(rbind, rows)
print(table[order(table$term), ], row.names = FALSE, digits = 4)
print(lapply(models, glance))
if (requireNamespace("flextable", quietly = TRUE)) {
  flextable::save_as_html(flextable::flextable(table), path = file.path(tempdir(), "table.html"))
}
