<?php

// The same scripts in a process that stays: each request includes the one that it asks for.

while (frankenphp_handle_request(static function (): void {
    require __DIR__ . strtok($_SERVER['REQUEST_URI'], '?');
})) {
}
