<?php

declare(strict_types=1);

// A form that writes to SQLite, and what it has written.

namespace Welcome;

start_session();
$database = Database::open();

if ($_SERVER['REQUEST_METHOD'] === 'POST') {
    check_token();
    if (isset($_POST['delete'])) {
        signed_in_as() ?? throw new Refused(403, 'Sign in to remove entries.');
        $database->deleteEntry((int) $_POST['delete']);
        say('The entry is gone.');
        see('/guestbook');
    }
    $name = text_field('name', 60);
    $message = text_field('message', 2000);
    if ($name === '' || $message === '') {
        throw new Refused(422, 'A name and a message are needed.');
    }
    $database->addEntry($name, $message);
    $_SESSION['name'] = $name;
    say("Thank you, $name.");
    see('/guestbook');
}

render('Guestbook', function () use ($database) { ?>
    <h1>Guestbook</h1>
    <form class="card form" method="post" action="/guestbook">
        <?= token_field() ?>
        <label>Name
            <input name="name" required maxlength="60" autocomplete="name"
                value="<?= e($_SESSION['name'] ?? signed_in_as() ?? '') ?>">
        </label>
        <label>Message
            <textarea name="message" required maxlength="2000" rows="4"></textarea>
        </label>
        <button class="button">Write</button>
    </form>
    <h2><?= e($database->countEntries()) ?> so far</h2>
    <ol class="entries" reversed>
        <?php foreach ($database->entries(50) as $entry): ?>
            <li class="card">
                <header>
                    <strong><?= e($entry['name']) ?></strong>
                    <?= time_element($entry['written']) ?>
                </header>
                <p><?= nl2br(e($entry['message'])) ?></p>
                <?php if (signed_in_as() !== null): ?>
                    <form method="post" action="/guestbook">
                        <?= token_field() ?>
                        <button class="link" name="delete" value="<?= e($entry['id']) ?>">Remove</button>
                    </form>
                <?php endif ?>
            </li>
        <?php endforeach ?>
    </ol>
<?php });
