<?php

declare(strict_types=1);

// The software that answers here, and where to go next.

namespace Welcome;

start_session();
$_SESSION['visits'] = ($_SESSION['visits'] ?? 0) + 1;

$opcache = function_exists('opcache_get_status') ? opcache_get_status(false) : false;
$facts = [
    'Server' => $_SERVER['SERVER_SOFTWARE'] ?? 'unknown',
    'PHP' => PHP_VERSION . (PHP_ZTS ? ', thread-safe' : ''),
    'Opcache' => $opcache ? $opcache['opcache_statistics']['num_cached_scripts'] . ' scripts kept compiled' : 'off',
    'This worker' => 'process ' . getmypid(),
    'Your visits' => $_SESSION['visits'] === 1 ? 'this is the first' : (string) $_SESSION['visits'],
];

render('Welcome', function () use ($facts) { ?>
    <section class="hero">
        <div>
            <h1>It runs.</h1>
            <p class="lead">This page comes from a PHP script, the picture and the style from files beside it,
                and one process brought both to you.</p>
            <p>
                <a class="button" href="/guestbook">Sign the guestbook</a>
                <a class="button quiet" href="/files">Upload a file</a>
            </p>
        </div>
        <img src="/assets/corral.png" alt="A wooden fence on a hill in the evening" width="560" height="360">
    </section>
    <section class="card">
        <h2>What answers here</h2>
        <dl class="facts">
            <?php foreach ($facts as $name => $value): ?>
                <div><dt><?= e($name) ?></dt><dd><?= e($value) ?></dd></div>
            <?php endforeach ?>
        </dl>
    </section>
    <section class="columns">
        <article class="card">
            <h3>Your site</h3>
            <p>Stop this one with Ctrl-C, then serve yours:</p>
            <pre><code>corral run /path/to/site</code></pre>
        </article>
        <article class="card">
            <h3>A server</h3>
            <p>The daemon takes its configuration while it runs:</p>
            <pre><code>corral daemon
corral config set site.json</code></pre>
        </article>
        <article class="card">
            <h3>This example</h3>
            <p>Its few files are in <code>examples/welcome</code>: change one, reload, see.</p>
        </article>
    </section>
<?php });
