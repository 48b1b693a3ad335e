# The procedure of Aubert et al. (2025) in R, written from its description: every cell of every
# model is fitted on its own, at every truncation, by differential evolution on [0, 1].
#
# Rscript authors.R TRIALS.csv CELLS.csv frame|vectors TRUNCATION ...
#   TRIALS.csv: context,action,reward (action 1 or 2), one row per trial in order
#   CELLS.csv: model,cell,context
# prints the seconds of each truncation, then of all together.

suppressPackageStartupMessages(library(DEoptim))

# In the way of the paper's own code: a matrix of probabilities with one row per trial, and data
# frames indexed by row and column inside the loop. The time is near what that code takes (15 s
# for 500 trials were measured).
by_frame <- function(eta, trials) {
  n <- nrow(trials)
  policy <- matrix(0.5, nrow = n, ncol = 2)
  preference <- c(0, 0)
  total <- 0
  for (t in seq_len(n)) {
    policy[t, ] <- exp(preference) / sum(exp(preference))
    action <- trials[t, "action"]
    total <- total + log(policy[t, action])
    chosen <- as.numeric(seq_len(2) == action)
    preference <- preference + eta * trials[t, "reward"] * (chosen - policy[t, ])
  }
  -total
}

# The same loop on plain vectors: what a careful R programmer would write.
by_vectors <- function(eta, trials) {
  actions <- trials$action
  rewards <- trials$reward
  preference <- c(0, 0)
  total <- 0
  for (t in seq_along(actions)) {
    policy <- exp(preference)
    policy <- policy / sum(policy)
    action <- actions[t]
    total <- total + log(policy[action])
    step <- -policy
    step[action] <- step[action] + 1
    preference <- preference + eta * rewards[t] * step
  }
  -total
}

fit_model <- function(trials, cells) {
  loss <- 0
  for (cell in unique(cells$cell)) {
    seen <- trials[trials$context %in% cells$context[cells$cell == cell], ]
    if (nrow(seen) == 0) next
    found <- DEoptim(objective, lower = 0, upper = 1, trials = seen,
                     control = DEoptim.control(NP = 10, itermax = 20, trace = FALSE))
    loss <- loss + found$optim$bestval
  }
  loss
}

arguments <- commandArgs(trailingOnly = TRUE)
trials <- read.csv(arguments[1])
cells <- read.csv(arguments[2])
objective <- list(frame = by_frame, vectors = by_vectors)[[arguments[3]]]
set.seed(1)
seconds <- 0
for (size in as.integer(arguments[-(1:3)])) {
  before <- proc.time()[["elapsed"]]
  for (model in unique(cells$model)) fit_model(head(trials, size), cells[cells$model == model, ])
  took <- proc.time()[["elapsed"]] - before
  seconds <- seconds + took
  cat(size, took, "\n")
}
cat("all", seconds, "\n")
