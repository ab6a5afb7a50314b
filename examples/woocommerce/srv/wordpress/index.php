<?php
// A stand-in for WooCommerce, which names the file that a customer has paid for by its path.
if (isset($_GET['download_file'])) {
    header('X-Sendfile: ' . __DIR__ . '/wp-content/uploads/woocommerce_uploads/song.txt');
    header('Content-Disposition: attachment; filename="song.txt"');
    exit;
}
echo 'script: ', $_SERVER['SCRIPT_NAME'], "\n";
