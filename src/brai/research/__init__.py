"""The experiments of the paper, and benchmarks. Nothing else imports this package."""
