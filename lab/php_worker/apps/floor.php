<?php

// Microseconds of processor time that PHP itself takes for so many calls of the handler of "hello", with their output.

$handler = static function (): void {
    echo 'Hello, World!';
};

function microseconds(): int
{
    $used = getrusage();

    return 1_000_000 * ($used['ru_utime.tv_sec'] + $used['ru_stime.tv_sec']) + $used['ru_utime.tv_usec'] + $used['ru_stime.tv_usec'];
}

$calls = (int) $argv[1];
ob_start(null, 4096);
$before = microseconds();
for ($n = 0; $n < $calls; ++$n) {
    $handler();
}
ob_flush();
fprintf(STDERR, "%.6f\n", (microseconds() - $before) / $calls);
