"""FrankenPHP."""

import os
from pathlib import Path

from .server import Server, first_line


class FrankenPhp(Server):
    """FrankenPHP, where LAB_FRANKENPHP names its executable."""

    name = "frankenphp"
    serves_files = True
    executable = Path(os.environ.get("LAB_FRANKENPHP", "/nonexistent"))

    @classmethod
    def missing(cls) -> str | None:
        return None if cls.executable.exists() else "LAB_FRANKENPHP=/path/to/frankenphp"

    @classmethod
    def version(cls) -> str:
        return first_line([str(cls.executable), "version"])

    def launch(self) -> None:
        caddyfile = self.write(
            "Caddyfile",
            f"""{{
admin off
auto_https off
persist_config off
frankenphp {{
{self.threads()}
}}
}}
http://127.0.0.1:{self.port} {{
root {self.setup.site}
{self.directives()}
}}
""",
        )
        self.spawn(self.executable, "run", "--config", caddyfile, "--adapter", "caddyfile",
                   env={**self.setup.php_env, "PHPRC": str(self.setup.php_ini), "HOME": str(self.folder)})  # fmt: skip

    def threads(self) -> str:
        return f"num_threads {self.setup.php_workers}"

    def directives(self) -> str:
        return "php_server"
