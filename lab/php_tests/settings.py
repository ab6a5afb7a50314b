"""The same php.ini for all that are compared: what PHP's own runner of tests sets, and what the test says."""

from pathlib import Path

# As run-tests.php has them, less what is of no effect here.
BASE = [
    "output_handler=", "open_basedir=", "disable_functions=", "output_buffering=Off", "error_reporting=32767",
    "display_errors=1", "display_startup_errors=1", "log_errors=0", "html_errors=0", "docref_root=", "docref_ext=.html",
    "error_prepend_string=", "error_append_string=", "auto_prepend_file=", "auto_append_file=",
    "ignore_repeated_errors=0", "precision=14", "serialize_precision=-1", "memory_limit=128M",
    "opcache.file_update_protection=0", "opcache.revalidate_freq=0", "opcache.max_accelerated_files=16229",
    "zend.assertions=1", "zend.exception_ignore_args=0", "zend.exception_string_param_max_len=15",
    "short_open_tag=0", "max_execution_time=20", "date.timezone=UTC", "session.gc_probability=0",
]  # fmt: skip


def written(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join([*map(_quoted, [*BASE, *lines]), ""]), errors="surrogateescape")
    return path


def _quoted(line: str) -> str:
    """PHP quotes what its command line is given with `-d`, unless it looks like a word or is quoted."""
    name, equals, value = line.partition("=")
    value = value.strip()
    if not equals or not value or value[0].isalnum() or value[0] in "\"'":
        return line
    return f'{name.strip()}="{value}"'
