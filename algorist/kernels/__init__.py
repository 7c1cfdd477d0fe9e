"""The operations that decide the speed, each in plain PyTorch and fused for GPUs."""
