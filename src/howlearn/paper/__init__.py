"""The numerical study of Aubert et al. (2025), reproduced and corrected."""
