"""Structure learners, as scikit-learn estimators."""
