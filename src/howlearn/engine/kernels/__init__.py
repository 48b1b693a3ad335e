"""Sources of the compiled loops.

They are not imported as they stand: ``engine.compile`` joins them, for one rule, into a module of
its own whose name holds a hash of all that it contains, so that the disk cache is never stale.
"""
