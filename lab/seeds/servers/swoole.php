<?php

// The same scripts in a loop of Swoole's own: each request includes the one that it asks for.

[, $port, $workers, $root, $user, $group] = $argv;

$server = new Swoole\Http\Server('127.0.0.1', (int) $port, SWOOLE_PROCESS);
$server->set([
    'worker_num' => (int) $workers,
    'enable_coroutine' => false,
    'backlog' => 4096,
    'log_level' => SWOOLE_LOG_ERROR,
    'enable_static_handler' => true,
    'document_root' => $root,
    'static_handler_locations' => ['/1k.txt', '/100k.txt'],
    ...(posix_geteuid() === 0 ? ['user' => $user, 'group' => $group] : []),
]);
$server->on('request', static function ($request, $response) use ($root): void {
    ob_start();
    require $root . $request->server['request_uri'];
    $response->end(ob_get_clean());
});
$server->start();
