<?php

$numbers = [];
for ($i = 0, $n = 1; $i < 1000; ++$i) {
    $numbers[] = $n = ($n * 16807) % 2147483647;
}
$names = array_map(static fn (int $number) => 'name-' . base_convert((string) $number, 10, 36), $numbers);
sort($numbers);
usort($names, static fn (string $one, string $other) => strrev($one) <=> strrev($other));
$groups = [];
foreach ($numbers as $number) {
    $groups[$number % 10][] = $number;
}
ksort($groups);
foreach ($groups as $digit => $members) {
    echo $digit, ': ', count($members), ', the median is ', $members[intdiv(count($members), 2)], "\n";
}
echo 'sum of all: ', crc32(implode(',', $names) . array_sum($numbers)), "\n";
