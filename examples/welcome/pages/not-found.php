<?php

declare(strict_types=1);

namespace Welcome;

start_session();
http_response_code(404);

render('Not found', function () { ?>
    <section class="card narrow">
        <h1>Nothing grazes here</h1>
        <p>There is no page at <code><?= e(strtok($_SERVER['REQUEST_URI'], '?')) ?></code>.</p>
        <p><a class="button" href="/">To the front page</a></p>
    </section>
<?php });
