"""The results of ``howlearn select``: a folder of tables."""
