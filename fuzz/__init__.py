"""Mutated input files through the readers: ``python -m fuzz --files 100000 --seed 1``.

A small valid file of some format (``seeds``) is changed in ways that know its structure
(``mutations``) into a ``case``, which a ``worker`` reads; the ``campaign`` watches over the workers
and keeps what it finds (``findings``) so that it can be replayed.
"""
