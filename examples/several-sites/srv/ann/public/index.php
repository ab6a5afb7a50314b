<?php echo "ann: ", $_SERVER['REQUEST_URI'], "\n";
