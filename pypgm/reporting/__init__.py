"""What a person wants to know of a release, as facts: how good it is, what it cost, what was lost, a page to show."""
