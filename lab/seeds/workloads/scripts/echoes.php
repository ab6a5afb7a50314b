<?php

for ($i = 0; $i < 1000; ++$i) {
    echo "Hello, World! $i ";
}
