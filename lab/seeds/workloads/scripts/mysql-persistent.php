<?php

$database = new mysqli('p:localhost', 'lab', '', 'lab');
$first = random_int(1, 991);
$database->query("UPDATE visits SET times = times + 1 WHERE article = $first");
$last = $first + 9;
$articles = $database->query("SELECT title, text, times FROM articles JOIN visits ON article = id WHERE id BETWEEN $first AND $last");
foreach ($articles as $number => ['title' => $title, 'text' => $text, 'times' => $times]) {
    echo "<h2>$title</h2>\n<p>$text</p>\n<p>Read $times times.</p>\n";
}
echo $articles->num_rows, " articles\n";
