"""The colours of figures, those of the report on a light background."""

from __future__ import annotations

BLUE, ORANGE, GREEN, PURPLE, GREY, INK = "#0072B2", "#C25700", "#00795A", "#9B4F80", "#7B8794", "#17202B"
YELLOW, SKY = "#E69F00", "#CFE6F5"
PARTS = (BLUE, ORANGE, GREEN, PURPLE, YELLOW, "#5A6675")  # states of a category
