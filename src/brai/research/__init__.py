"""The paper's experiments, and benchmarks. Nothing else imports this package."""
