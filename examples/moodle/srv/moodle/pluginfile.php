<?php
// A stand-in for Moodle's own script, with `$CFG->xsendfile = 'X-Accel-Redirect'`.
header('Content-Type: application/pdf');
header('X-Accel-Redirect: /dataroot/filedir/ab/cd/abcd');
