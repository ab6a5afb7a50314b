<?php

declare(strict_types=1);

// The shared layout, and text made safe for HTML.

namespace Welcome;

function e(string|int $text): string
{
    return htmlspecialchars((string) $text, ENT_QUOTES | ENT_SUBSTITUTE, 'UTF-8');
}

function text_field(string $name, int $limit): string
{
    $value = $_POST[$name] ?? '';
    if (!is_string($value) || !mb_check($value)) {
        throw new Refused(400, "The field \"$name\" is not text.");
    }

    return trim(mb_cut($value, $limit));
}

// Without the mbstring extension: preg speaks UTF-8 everywhere.
function mb_check(string $text): bool
{
    return preg_match('//u', $text) === 1;
}

function mb_cut(string $text, int $limit): string
{
    return preg_match("/^.{0,$limit}/us", $text, $found) === 1 ? $found[0] : '';
}

function size_text(int $bytes): string
{
    return match (true) {
        $bytes < 1024 => "$bytes B",
        $bytes < 1024 ** 2 => sprintf('%.1f KB', $bytes / 1024),
        default => sprintf('%.1f MB', $bytes / 1024 ** 2),
    };
}

function time_element(int $timestamp): string
{
    return '<time datetime="' . gmdate('c', $timestamp) . '">' . gmdate('j M Y, H:i', $timestamp) . ' UTC</time>';
}

/** Prints the whole page around what $content prints. */
function render(string $title, callable $content): void
{
    $said = $_SESSION['said'] ?? null;
    unset($_SESSION['said']);
    $here = strtok($_SERVER['REQUEST_URI'], '?');
    $links = ['/' => 'Home', '/guestbook' => 'Guestbook', '/files' => 'Files'];
    ?>
<!doctype html>
<html lang="en">
<head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title><?= e($title) ?> · Corral</title>
    <link rel="icon" href="/assets/logo.svg" type="image/svg+xml">
    <link rel="stylesheet" href="/assets/style.css">
</head>
<body>
<header class="bar">
    <a class="brand" href="/"><img src="/assets/logo.svg" alt="" width="32" height="32"> Corral</a>
    <nav aria-label="Pages">
        <?php foreach ($links as $path => $label): ?>
            <a href="<?= e($path) ?>"<?= $path === $here ? ' aria-current="page"' : '' ?>><?= e($label) ?></a>
        <?php endforeach ?>
        <a class="account" href="/account"<?= $here === '/account' ? ' aria-current="page"' : '' ?>><?=
            e(signed_in_as() ?? 'Sign in') ?></a>
    </nav>
</header>
<main>
    <?php if ($said !== null): ?><p class="said" role="status"><?= e($said) ?></p><?php endif ?>
    <?php $content() ?>
</main>
<footer class="foot">
    <span>PHP <?= e(PHP_VERSION) ?> as <?= e(PHP_SAPI) ?></span>
    <span>worker <?= e(getmypid()) ?></span>
    <span><?= e(sprintf('%.1f ms', 1000 * (microtime(true) - $_SERVER['REQUEST_TIME_FLOAT']))) ?></span>
</footer>
</body>
</html>
    <?php
}
