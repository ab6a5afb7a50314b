"""WordPress from Debian's package, installed with one post."""

import shutil
import subprocess
from pathlib import Path

from ... import php
from ...servers import ServerFailed, Setup

SOURCE = Path("/usr/share/wordpress")
# Any one will do; Debian has them in packages of their own.
THEMES = SOURCE / "wp-content/themes"
INSTALLER = Path(__file__).with_name("wordpress-install.php")
PHP = f"/usr/bin/php{php.VERSION}"

POST = "Greetings from the corral"

CONFIGURATION = """<?php
define('DB_NAME', 'wordpress');
define('DB_USER', 'lab');
define('DB_PASSWORD', '');
define('DB_HOST', 'localhost');
define('DB_CHARSET', 'utf8mb4');
define('AUTH_KEY', 'one');
define('SECURE_AUTH_KEY', 'two');
define('LOGGED_IN_KEY', 'three');
define('NONCE_KEY', 'four');
define('WP_HOME', 'http://@HOST@');
define('WP_SITEURL', 'http://@HOST@');
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('AUTOMATIC_UPDATER_DISABLED', true);
// Jobs that a visit starts would be another load.
define('DISABLE_WP_CRON', true);
$table_prefix = 'wp_';
if (!defined('ABSPATH')) {
    define('ABSPATH', __DIR__ . '/');
}
require ABSPATH . 'wp-settings.php';
"""


def missing() -> str | None:
    if not SOURCE.exists():
        return "wordpress (scripts/setup bench)"
    return None if any(THEMES.glob("*/style.css")) else "a theme of WordPress (scripts/setup bench)"


def install(folder: Path, host: str, setup: Setup) -> None:
    """A copy in this folder, with its tables in the database `wordpress`."""
    shutil.copytree(SOURCE, folder, ignore_dangling_symlinks=True, ignore=shutil.ignore_patterns(".htaccess"))
    (folder / "wp-content/uploads").mkdir(exist_ok=True)
    (folder / "wp-config.php").write_text(CONFIGURATION.replace("@HOST@", host))
    command = [PHP, "-c", str(setup.php_ini), str(INSTALLER), str(folder), host]
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          env={"PATH": "/usr/bin:/bin", **setup.php_env})  # fmt: skip
    if done.stdout.strip() != "installed":
        raise ServerFailed(f"WordPress: exit {done.returncode}: {(done.stdout + done.stderr).strip()[-800:]}")
