"""Triton kernels for NVIDIA GPUs: the operations of one step, and the scan that they make up."""
