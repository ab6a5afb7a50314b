<?php
// A stand-in for the worker of a framework: loaded once, asked many times.
$n = 0;
$handler = function () use (&$n) {
    $n++;
    echo "worker: ", $_SERVER['REQUEST_URI'], ' in ', getenv('APP_BASE_PATH') === dirname(__DIR__) ? 'its folder' : 'another folder', "\n";
};
while (frankenphp_handle_request($handler)) {
}
