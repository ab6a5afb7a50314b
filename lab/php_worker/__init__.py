"""PHP applications that stay in memory, beside the same code started for each request: `python3 -m lab.php_worker --help`."""
