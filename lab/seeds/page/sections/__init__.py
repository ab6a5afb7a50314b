"""The sections of the page, each in a file of its own."""
