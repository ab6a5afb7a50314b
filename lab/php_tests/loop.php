<?php
/* The script of a worker that runs the test which is asked for, as a front controller does. Tests may be without $_SERVER. */
$handler = static function () {
    $script = __DIR__ . getallheaders()['X-Script'];
    chdir(dirname($script));
    (static function () { require func_get_arg(0); })($script);
};
while (corral_handle_request($handler)) {
}
