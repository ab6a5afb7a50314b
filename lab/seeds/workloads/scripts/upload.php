<?php

echo 'received ', filesize($_FILES['file']['tmp_name']), " bytes\n";
