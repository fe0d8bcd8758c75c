"""Reading NVIDIA machine code: registers, spills, instructions, and the occupancy that follows from them."""
