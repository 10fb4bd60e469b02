"""What writes pages of the documentation; tests compare the pages with what is written."""
