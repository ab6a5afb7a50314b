<?php

declare(strict_types=1);

namespace Welcome;

use PDO;

/** The guestbook's entries and the uploaded files' records, in SQLite. */
final class Database
{
    private function __construct(private readonly PDO $pdo)
    {
    }

    public static function open(): self
    {
        if (!in_array('sqlite', PDO::getAvailableDrivers(), true)) {
            throw new Refused(503, 'PHP has no SQLite driver here: install php-sqlite3.');
        }
        $pdo = new PDO('sqlite:' . data_folder('db') . '/welcome.sqlite', options: [
            PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
            PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_ASSOC,
            PDO::ATTR_TIMEOUT => 5,
        ]);
        // Readers and the writer do not wait for each other.
        $pdo->exec('PRAGMA journal_mode = WAL');
        $pdo->exec('CREATE TABLE IF NOT EXISTS entries (
            id INTEGER PRIMARY KEY, name TEXT NOT NULL, message TEXT NOT NULL, written INTEGER NOT NULL)');
        $pdo->exec('CREATE TABLE IF NOT EXISTS files (
            id INTEGER PRIMARY KEY, name TEXT NOT NULL, stored TEXT NOT NULL UNIQUE, size INTEGER NOT NULL,
            uploaded INTEGER NOT NULL)');

        return new self($pdo);
    }

    public function addEntry(string $name, string $message): void
    {
        $this->run('INSERT INTO entries (name, message, written) VALUES (?, ?, ?)', $name, $message, time());
    }

    public function deleteEntry(int $id): void
    {
        $this->run('DELETE FROM entries WHERE id = ?', $id);
    }

    /** @return list<array{id: int, name: string, message: string, written: int}> newest first */
    public function entries(int $limit): array
    {
        return $this->run('SELECT * FROM entries ORDER BY id DESC LIMIT ?', $limit)->fetchAll();
    }

    public function countEntries(): int
    {
        return (int) $this->run('SELECT count(*) FROM entries')->fetchColumn();
    }

    public function addFile(string $name, string $stored, int $size): void
    {
        $this->run('INSERT INTO files (name, stored, size, uploaded) VALUES (?, ?, ?, ?)', $name, $stored, $size, time());
    }

    public function deleteFile(int $id): void
    {
        $this->run('DELETE FROM files WHERE id = ?', $id);
    }

    /** @return array{id: int, name: string, stored: string, size: int, uploaded: int}|null */
    public function file(int $id): ?array
    {
        return $this->run('SELECT * FROM files WHERE id = ?', $id)->fetch() ?: null;
    }

    /** @return list<array{id: int, name: string, stored: string, size: int, uploaded: int}> newest first */
    public function files(int $limit): array
    {
        return $this->run('SELECT * FROM files ORDER BY id DESC LIMIT ?', $limit)->fetchAll();
    }

    private function run(string $sql, string|int ...$values): \PDOStatement
    {
        $statement = $this->pdo->prepare($sql);
        $statement->execute($values);

        return $statement;
    }
}
