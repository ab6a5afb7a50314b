<?php

declare(strict_types=1);

// The front controller: every request that is not for a file in this folder arrives here.

use function Welcome\render;

require __DIR__ . '/../src/bootstrap.php';

$path = rawurldecode(strtok($_SERVER['REQUEST_URI'], '?'));

$page = match (true) {
    $path === '/', $path === '/index.php' => 'home',
    $path === '/guestbook' => 'guestbook',
    $path === '/files', preg_match('~^/files/\d+$~D', $path) === 1 => 'files',
    $path === '/account' => 'account',
    default => 'not-found',
};

try {
    require __DIR__ . "/../pages/$page.php";
} catch (Welcome\Refused $refused) {
    http_response_code($refused->status);
    render('Not possible', function () use ($refused) { ?>
        <section class="card narrow">
            <h1>That did not work</h1>
            <p><?= Welcome\e($refused->getMessage()) ?></p>
            <p><a class="button" href="">Back</a></p>
        </section>
    <?php });
}
