"""Jobs that a scheduler repeats: names of files that one run holds, signals, and the release that is there already."""
