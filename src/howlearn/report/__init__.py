"""Charts and pages: what the tables say, drawn. Needs the extra `report`."""
