<?php

declare(strict_types=1);

// The visitor's session: the user that is signed in, messages for the next page, protection of forms.

namespace Welcome;

const DEMO_USER = 'demo';
// password_hash('corral', PASSWORD_BCRYPT, ['cost' => 10])
const DEMO_PASSWORD_HASH = '$2y$10$JEh34CO1WCqHJEpWOKHq2.gwTZxLZ3h9vHS8BXfkeyJ5gRr6esj5m';

function start_session(): void
{
    if (session_status() === PHP_SESSION_ACTIVE) {
        return;
    }
    session_save_path(data_folder('sessions'));
    session_name('welcome');
    session_start([
        'cookie_httponly' => true,
        'cookie_samesite' => 'Lax',
        'cookie_secure' => ($_SERVER['HTTPS'] ?? '') === 'on',
        'use_strict_mode' => true,
        // Debian leaves the clearing of old sessions to a timer that knows its own folder only.
        'gc_probability' => 1,
        'gc_divisor' => 100,
    ]);
    $_SESSION['token'] ??= bin2hex(random_bytes(16));
}

function signed_in_as(): ?string
{
    return $_SESSION['user'] ?? null;
}

function sign_in(string $user, string $password): bool
{
    // The password is checked for unknown names too: the time taken tells nothing.
    $good = password_verify($password, DEMO_PASSWORD_HASH) && $user === DEMO_USER;
    if ($good) {
        session_regenerate_id(true);
        $_SESSION['user'] = $user;
    }

    return $good;
}

function sign_out(): void
{
    session_regenerate_id(true);
    unset($_SESSION['user']);
}

/** Refuses a form that this site did not show to this visitor. */
function check_token(): void
{
    $sent = $_POST['token'] ?? '';
    if (!is_string($sent) || !hash_equals($_SESSION['token'], $sent)) {
        throw new Refused(403, 'The form has expired. Load the page again and send it once more.');
    }
}

/** The hidden field that every form carries. */
function token_field(): string
{
    return '<input type="hidden" name="token" value="' . e($_SESSION['token']) . '">';
}

/** Shows $text on top of the next page. */
function say(string $text): void
{
    $_SESSION['said'] = $text;
}

/** Ends a POST: the browser shows $path, and reloading it sends nothing twice. */
function see(string $path): never
{
    header("Location: $path", true, 303);
    exit;
}
