<?php
// The suite's application in PHP: README.md says what is at which path.

[$path, $argument] = explode('?', $_SERVER['REQUEST_URI'], 2) + [1 => ''];

function headers_of_request(): array
{
    $fields = [];
    foreach ($_SERVER as $name => $value) {
        if (str_starts_with($name, 'HTTP_')) {
            $fields[strtolower(strtr(substr($name, 5), '_', '-'))] = $value;
        } elseif ($name === 'CONTENT_TYPE' || $name === 'CONTENT_LENGTH') {
            $fields[strtolower(strtr($name, '_', '-'))] = $value;
        }
    }
    return $fields;
}

function send(): void
{
    while (ob_get_level()) {
        ob_end_flush();
    }
    flush();
}

function wait_for(callable $condition): void
{
    while (!$condition()) {
        usleep(5000);
        clearstatcache();
    }
}

switch ($path) {
    case '/request':
        header('Content-Type: application/json');
        echo json_encode([
            'method' => $_SERVER['REQUEST_METHOD'],
            'target' => $_SERVER['REQUEST_URI'],
            'path' => null,
            'query' => $_SERVER['QUERY_STRING'],
            'scheme' => ($_SERVER['HTTPS'] ?? '') === 'on' ? 'https' : 'http',
            'client' => $_SERVER['REMOTE_ADDR'],
            'port' => (int) ($_SERVER['REMOTE_PORT'] ?? 0),
            'headers' => headers_of_request(),
        ]);
        break;
    case '/echo':
        readfile('php://input');
        break;
    case '/length':
        echo strlen(file_get_contents('php://input'));
        break;
    case '/ignored':
        echo 'ignored';
        break;
    case '/large':
        $block = str_repeat(implode(array_map('chr', range(0, 250))), 100);
        for ($i = 0; $i < $argument; $i++) {
            echo $block;
        }
        break;
    case '/status':
        http_response_code((int) $argument);
        echo "status $argument";
        break;
    case '/fields':
        header('X-Twice: 1');
        header('X-Twice: 2', false);
        header('Set-Cookie: a=1');
        header('Set-Cookie: b=2', false);
        header('X-Empty: ');
        echo 'fields';
        break;
    case '/many':
        for ($i = 1; $i <= $argument; $i++) {
            header("X-Field-$i: value $i");
        }
        echo 'many';
        break;
    case '/stream':
        echo 'first';
        send();
        wait_for(fn() => file_exists('go'));
        echo 'second';
        break;
    case '/framed':
        header('Transfer-Encoding: chunked');
        foreach (explode('~', $argument) as $piece) {
            echo rawurldecode($piece);
            send();
        }
        break;
    case '/nothing':
        register_shutdown_function(fn() => connection_aborted() && error_log('the client is gone'));
        error_log('it has begun');
        while (true) {
            flush();
        }
    case '/fail':
        throw new Exception('failed on purpose');
    case '/fail-late':
        echo 'begun';
        send();
        throw new Exception('failed too late');
    case '/die':
        posix_kill(getmypid(), SIGKILL);
        sleep(30);
        break;
    case '/endless':
        register_shutdown_function(fn() => connection_aborted() && error_log('the client is gone'));
        while (true) {
            echo str_repeat('x', 65536);
        }
    case '/meet':
        tempnam('meet', 'met');
        wait_for(fn() => count(scandir('meet')) - 2 >= $argument);
        echo getmypid();
        break;
    case '/slow':
        usleep($argument * 1000);
        echo getmypid();
        break;
    case '/pid':
        echo getmypid();
        break;
    case '/cwd':
        echo getcwd();
        break;
    case '/environment':
        echo getenv($argument);
        break;
    case '/user':
        echo posix_geteuid(), ' ', posix_getegid();
        break;
    case '/log':
        file_put_contents('php://stdout', "said to standard output\n");
        file_put_contents('php://stderr', "said to standard error\n");
        break;
    default:
        http_response_code(404);
}
