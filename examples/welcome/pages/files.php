<?php

declare(strict_types=1);

// Uploads and downloads. Files are kept outside of public/ under names of our own choosing, and leave as
// attachments: nothing that a visitor sends is ever run, here or in a browser.

namespace Welcome;

const MAX_FILE_SIZE = 4 * 1024 ** 2;

start_session();
$database = Database::open();

if (preg_match('~^/files/(\d+)$~D', strtok($_SERVER['REQUEST_URI'], '?'), $found)) {
    $file = $database->file((int) $found[1]) ?? throw new Refused(404, 'There is no such file.');
    send_file($file);
    exit;
}

if ($_SERVER['REQUEST_METHOD'] === 'POST') {
    // PHP drops all fields of a form that is larger than post_max_size, the token too.
    if ($_POST === [] && (int) ($_SERVER['CONTENT_LENGTH'] ?? 0) > 0) {
        throw new Refused(413, 'That is more than this server takes (' . ini_get('post_max_size') . ').');
    }
    check_token();
    if (isset($_POST['delete'])) {
        signed_in_as() ?? throw new Refused(403, 'Sign in to remove files.');
        remove_file($database, (int) $_POST['delete']);
        say('The file is gone.');
    } else {
        say(keep_upload($database, $_FILES['file'] ?? []) . ' is here.');
    }
    see('/files');
}

/** @return string the file's name as uploaded */
function keep_upload(Database $database, array $upload): string
{
    $error = $upload['error'] ?? UPLOAD_ERR_NO_FILE;
    if (!is_int($error)) {
        throw new Refused(400, 'One file at a time.');
    }
    match ($error) {
        UPLOAD_ERR_OK => null,
        UPLOAD_ERR_NO_FILE => throw new Refused(422, 'Choose a file first.'),
        UPLOAD_ERR_INI_SIZE => throw new Refused(413, 'That file is larger than this server takes ('
            . ini_get('upload_max_filesize') . ').'),
        default => throw new Refused(500, "The upload failed (error $error)."),
    };
    if ($upload['size'] > MAX_FILE_SIZE) {
        throw new Refused(413, 'Files may have up to ' . size_text(MAX_FILE_SIZE) . '.');
    }
    $name = mb_check($upload['name']) ? mb_cut($upload['name'], 120) : 'file';
    $stored = bin2hex(random_bytes(12));
    if (!move_uploaded_file($upload['tmp_name'], data_folder('uploads') . "/$stored")) {
        throw new Refused(500, 'The file could not be kept.');
    }
    $database->addFile($name, $stored, $upload['size']);

    return $name;
}

/** @param array{name: string, stored: string, size: int} $file */
function send_file(array $file): void
{
    $path = data_folder('uploads') . '/' . $file['stored'];
    if (!is_file($path)) {
        throw new Refused(404, 'The file is gone.');
    }
    header('Content-Type: application/octet-stream');
    header('Content-Length: ' . filesize($path));
    // RFC 6266: the encoded form carries any name.
    header("Content-Disposition: attachment; filename*=UTF-8''" . rawurlencode($file['name']));
    readfile($path);
}

function remove_file(Database $database, int $id): void
{
    if ($file = $database->file($id)) {
        $database->deleteFile($id);
        @unlink(data_folder('uploads') . '/' . $file['stored']);
    }
}

render('Files', function () use ($database) { ?>
    <h1>Files</h1>
    <form class="card form" method="post" action="/files" enctype="multipart/form-data">
        <?= token_field() ?>
        <label>A file of up to <?= e(size_text(MAX_FILE_SIZE)) ?>
            <input type="file" name="file" required>
        </label>
        <button class="button">Upload</button>
    </form>
    <?php $files = $database->files(50) ?>
    <?php if ($files === []): ?>
        <p class="quiet">Nothing here yet.</p>
    <?php else: ?>
        <div class="card scroll">
            <table>
                <thead><tr><th>Name</th><th class="number">Size</th><th>Uploaded</th><th></th></tr></thead>
                <tbody>
                <?php foreach ($files as $file): ?>
                    <tr>
                        <td><a href="/files/<?= e($file['id']) ?>"><?= e($file['name']) ?></a></td>
                        <td class="number"><?= e(size_text($file['size'])) ?></td>
                        <td><?= time_element($file['uploaded']) ?></td>
                        <td>
                            <?php if (signed_in_as() !== null): ?>
                                <form method="post" action="/files">
                                    <?= token_field() ?>
                                    <button class="link" name="delete" value="<?= e($file['id']) ?>">Remove</button>
                                </form>
                            <?php endif ?>
                        </td>
                    </tr>
                <?php endforeach ?>
                </tbody>
            </table>
        </div>
    <?php endif ?>
<?php });
