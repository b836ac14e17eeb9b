"""Tables to the one form that algorithms see."""
