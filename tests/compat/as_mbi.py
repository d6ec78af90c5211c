"""A plugin of pytest: the compatible surface stands for mbi before any test is imported."""

from pypgm.compat import install_as_mbi

install_as_mbi()
