"""Models and what they give: answers and synthetic records."""
