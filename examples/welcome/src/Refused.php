<?php

declare(strict_types=1);

namespace Welcome;

/** A request that cannot be fulfilled, with a text for the visitor. */
final class Refused extends \RuntimeException
{
    public function __construct(public readonly int $status, string $message)
    {
        parent::__construct($message);
    }
}
