library(testthat)
library(dpsparse)

test_check("dpsparse")
