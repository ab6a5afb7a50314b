"""Web application servers against each other: real servers, interleaved rounds, a verdict on each cell."""
