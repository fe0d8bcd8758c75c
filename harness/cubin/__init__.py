"""NVIDIA machine code: registers, spills, instructions, and the resulting occupancy."""
