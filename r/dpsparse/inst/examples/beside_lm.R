# Our model beside lm: by broom, and as a table of flextable where that is installed. The people are made up:
# coefficients of lm are not private. A folder as an argument is where the table goes.
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
long <- do.call(rbind, rows)
print(long[order(long$term), ], row.names = FALSE, digits = 4)
print(lapply(models, glance))

# Side by side: an effect and its interval in a cell for each model.
cell <- function(row) {
  shown <- vapply(unlist(row[c("estimate", "conf.low", "conf.high")]), function(number) {
    format(signif(number, 4), big.mark = ",", scientific = FALSE, trim = TRUE)
  }, "")
  if (is.na(row$conf.low)) shown[1] else sprintf("%s\n[%s, %s]", shown[1], shown[2], shown[3])
}
# The intercept belongs to the predictions of a private model, which gives no error for it.
terms <- setdiff(unique(long$term), "(Intercept)")
side <- data.frame(term = terms)
for (name in names(models)) {
  side[[name]] <- vapply(terms, function(term) {
    row <- long[long$model == name & long$term == term, ]
    if (nrow(row)) cell(row) else ""
  }, "")
}
side <- rbind(side, data.frame(term = "Records", lm = nobs(models$lm), private = nobs(models$private)))
print(side, row.names = FALSE)

folder <- c(commandArgs(trailingOnly = TRUE), tempdir())[1]
if (requireNamespace("flextable", quietly = TRUE)) {
  made <- flextable::flextable(side)
  made <- flextable::set_header_labels(made, term = "", lm = "lm, not private", private = "dp_lm, epsilon 1")
  made <- flextable::hline(made, i = length(terms))
  made <- flextable::align(made, j = 2:3, align = "right", part = "all")
  made <- flextable::width(flextable::add_header_lines(made, "Effects on cost, with 95 % intervals"), width = 2)
  flextable::save_as_docx(made, path = file.path(folder, "beside_lm.docx"))
  flextable::save_as_html(made, path = file.path(folder, "beside_lm.html"))
}
