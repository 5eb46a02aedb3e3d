package catalog

// EstimateTokens returns about how many tokens of a model's context a JSON text of so many
// bytes takes. An exact count needs a model's vocabulary of several megabytes, and differs
// by model; for lists of tools this is within a tenth of what o200k_base counts.
func EstimateTokens(bytes int) int { return (bytes*9 + 20) / 40 }
