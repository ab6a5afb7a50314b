<?php

echo 'Hello, World!';
