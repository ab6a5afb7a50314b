<?php
// A stand-in for the application: says which script runs, and for what.
echo "script: ", $_SERVER['SCRIPT_NAME'], ' ', $_SERVER['PATH_INFO'] ?? '-', ' ', $_SERVER['QUERY_STRING'] ?? '', "\n";
