"""What ``select`` found, in memory or in a folder of tables; and what every analysis gives."""
