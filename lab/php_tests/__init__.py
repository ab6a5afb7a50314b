"""PHP's own test files as web requests: Corral, classic and as a worker, beside php-cgi."""
