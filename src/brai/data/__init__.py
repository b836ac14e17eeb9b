"""Reading tables of any kind into a `Dataset`, the one form that all algorithms use."""
