"""Run directories, TensorBoard, tables and pictures."""

from xlate.machine import home, keep_in_scratch

# Set before matplotlib is imported: otherwise it would warn, and rebuild its list of fonts each time.
keep_in_scratch(
    "MPLCONFIGDIR",
    "matplotlib",
    home("XDG_CONFIG_HOME", ".config") / "matplotlib",
    home("XDG_CACHE_HOME", ".cache") / "matplotlib",
)
