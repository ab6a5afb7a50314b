drupal
