<?php

declare(strict_types=1);

// Finds the folder for what the site keeps.

namespace Welcome;

/** A folder below data/, or below the temporary folder where the site's own cannot be written. */
function data_folder(string $name): string
{
    static $base = null;
    $base ??= writable_folder(dirname(__DIR__) . '/data') ?? own_temporary_folder();

    return writable_folder("$base/$name") ?? throw new \RuntimeException("cannot write to $base/$name");
}

function writable_folder(string $path): ?string
{
    if (!is_dir($path)) {
        // Another worker may make it at the same time; what counts is that it is there.
        @mkdir($path, 0o700);
        clearstatcache(true, $path);
    }

    return is_dir($path) && is_writable($path) ? $path : null;
}

function own_temporary_folder(): string
{
    $user = function_exists('posix_geteuid') ? posix_geteuid() : getmyuid();
    $path = sys_get_temp_dir() . "/corral-welcome-$user";
    // Every user may create entries in the temporary folder: take none that belongs to another one.
    if (writable_folder($path) === null || is_link($path) || fileowner($path) !== $user) {
        throw new \RuntimeException("cannot use $path");
    }

    return $path;
}
