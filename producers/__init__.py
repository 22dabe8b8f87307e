"""Ways in: programs that submit cases. They import ``tribunal`` and none of its siblings."""
