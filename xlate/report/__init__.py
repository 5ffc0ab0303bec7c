"""Run directories, TensorBoard, tables and pictures."""
