<?php
header("Content-Type: text/plain");
echo "served by ", PHP_SAPI, "\nHello ", $_GET["name"] ?? "world", "\n";
