"""Run directories, TensorBoard, tables and pictures."""

from xlate.machine import home, keep_in_scratch

# Before matplotlib is imported: it would warn, and make its list of all fonts anew each time.
keep_in_scratch(
    "MPLCONFIGDIR",
    "matplotlib",
    home("XDG_CONFIG_HOME", ".config") / "matplotlib",
    home("XDG_CACHE_HOME", ".cache") / "matplotlib",
)
