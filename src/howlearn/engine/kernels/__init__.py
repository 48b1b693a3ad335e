"""howlearn.engine.kernels"""
