"""Facts about releases for people: expected errors, the budget, losses, and a page that shows them."""
