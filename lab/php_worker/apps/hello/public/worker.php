<?php

$handler = static function (): void {
    echo 'Hello, World!';
};

while (frankenphp_handle_request($handler)) {
}
