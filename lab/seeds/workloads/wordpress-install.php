<?php

// Installs WordPress by its own functions, with one post and links that name their posts.

define('WP_INSTALLING', true);
$_SERVER += ['HTTP_HOST' => $argv[2], 'SERVER_NAME' => $argv[2], 'SERVER_SOFTWARE' => 'nginx', 'REQUEST_URI' => '/'];

/** The mail about a new blog is not sent. */
function wp_new_blog_notification(): void
{
}

require $argv[1] . '/wp-load.php';
require ABSPATH . 'wp-admin/includes/upgrade.php';

wp_install('Corral Gazette', 'owner', 'owner@example.com', false, '', wp_generate_password());
$wp_rewrite->set_permalink_structure('/%postname%/');
$wp_rewrite->flush_rules(false);
$id = wp_insert_post([
    'post_title' => 'Greetings from the corral',
    'post_content' => '<p>It runs behind one daemon.</p>',
    'post_status' => 'publish',
    'post_author' => 1,
]);
echo $id > 0 ? "installed\n" : "no post\n";
