<?php

declare(strict_types=1);

// Loads the rest of src/ and sets what holds for every page.

namespace Welcome;

require __DIR__ . '/Refused.php';
require __DIR__ . '/storage.php';
require __DIR__ . '/Database.php';
require __DIR__ . '/session.php';
require __DIR__ . '/html.php';

ini_set('display_errors', '0');
ini_set('log_errors', '1');

header('X-Content-Type-Options: nosniff');
header("Content-Security-Policy: default-src 'self'; style-src 'self'; frame-ancestors 'none'; form-action 'self'");
header('Referrer-Policy: same-origin');
