"""How models and data are handed to the engine that fits and plays models whole."""
