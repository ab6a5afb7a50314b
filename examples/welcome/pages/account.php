<?php

declare(strict_types=1);

// Signing in and out.

namespace Welcome;

start_session();
$wrong = false;

if ($_SERVER['REQUEST_METHOD'] === 'POST') {
    check_token();
    if (isset($_POST['sign-out'])) {
        sign_out();
        say('You are signed out.');
        see('/');
    }
    if (sign_in(text_field('user', 60), text_field('password', 200))) {
        say('Welcome back.');
        see('/account');
    }
    $wrong = true;
    http_response_code(403);
}

render('Account', function () use ($wrong) { ?>
    <?php if ($user = signed_in_as()): ?>
        <section class="card narrow">
            <h1>Hello, <?= e($user) ?></h1>
            <p>You may remove entries of the guestbook, and files.
                Visits to the front page in this session: <?= e($_SESSION['visits'] ?? 0) ?>.</p>
            <form method="post" action="/account">
                <?= token_field() ?>
                <button class="button" name="sign-out" value="1">Sign out</button>
            </form>
        </section>
    <?php else: ?>
        <form class="card form narrow" method="post" action="/account">
            <h1>Sign in</h1>
            <?php if ($wrong): ?><p class="wrong" role="alert">Name or password is wrong.</p><?php endif ?>
            <?= token_field() ?>
            <label>Name <input name="user" required autocomplete="username"></label>
            <label>Password <input name="password" type="password" required autocomplete="current-password"></label>
            <button class="button">Sign in</button>
            <p class="quiet">In this example: <code>demo</code> and <code>corral</code>.</p>
        </form>
    <?php endif ?>
<?php });
