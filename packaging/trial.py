"""Installs, uses, upgrades, removes and purges Corral's packages as root of a machine that scripts/try-packages has made.

The first argument is the folder of a version before, the second that of the packages that are tried. The machine has no
network and no systemd: what systemd would start is started by the unit's own command. Steps depend on those before them,
so the first failure ends the trial.
"""

import glob
import http.client
import os
import pwd
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

OLD, NEW = (Path(folder) for folder in sys.argv[1:3])
PID_FILE = Path("/run/corral/corral.pid")
DEADLINE = 120
STEPS = []


def step(function):
    STEPS.append(function)
    return function


# --- helpers -------------------------------------------------------------------------------------


def run(*command, check=True) -> str:
    """The output of a command; nothing is there to answer its questions."""
    ended = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, check=False,
    )
    if check and ended.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: exit {ended.returncode}\n{ended.stdout}")
    return ended.stdout


def eventually(what: str, holds):
    """Waits until `holds` gives something true, and gives that."""
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        if found := holds():
            return found
        time.sleep(0.05)
    raise AssertionError(f"not within {DEADLINE} s: {what}")


def packages(folder: Path, *names) -> list[str]:
    """The packages of Corral in `folder`, or those of them that are named."""
    every = sorted(map(str, folder.glob("corral*.deb")))
    return [path for path in every if not names or Path(path).name.split("_")[0] in names]


def apt(*arguments) -> str:
    return run("apt-get", "--quiet", "--yes", "--no-install-recommends", *arguments)


def status(port=80, path="/", host="127.0.0.1"):
    """Status and body of a response; nothing when none came."""
    connection = http.client.HTTPConnection(host, port, timeout=30)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode()
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def daemon_pid() -> int | None:
    try:
        pid = int(PID_FILE.read_text())
        return pid if Path(f"/proc/{pid}/comm").read_text().startswith("main v") else None
    except (OSError, ValueError):
        return None


def start_service():
    """Starts what the unit starts, as an orphan, with its output in a file."""
    unit = Path(glob.glob("/*/systemd/system/corral.service")[0] if not os.path.exists(
        "/usr/lib/systemd/system/corral.service") else "/usr/lib/systemd/system/corral.service").read_text()
    command = re.search(r"^ExecStart=(.*)$", unit, re.MULTILINE)[1]
    PID_FILE.parent.mkdir(exist_ok=True)
    script = f"set -a; . /etc/default/corral; set +a; exec setsid {command} >>/tmp/journal 2>&1 &"
    run("sh", "-c", script)
    return eventually("the daemon runs", daemon_pid)


def reload_service():
    os.kill(daemon_pid(), signal.SIGHUP)


def installed_version() -> str:
    return run("dpkg-query", "-W", "-f=${Version}", "corral")


class Load:
    """Clients with kept connections; each failure is noted."""

    def __init__(self, paths):
        self.failures, self.n_requests, self.is_over = [], 0, False
        self.threads = [threading.Thread(target=self._client, args=(path,)) for path in paths for _ in range(2)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        eventually("requests are answered", lambda: self.n_requests > 20)
        return self

    def __exit__(self, *error):
        count = self.n_requests
        if not error[0]:
            eventually("requests go on", lambda: self.failures or self.n_requests > count + 20)
        self.is_over = True
        for thread in self.threads:
            thread.join()
        if not error[0]:
            assert not self.failures, f"{len(self.failures)} of {self.n_requests} failed: {self.failures[:3]}"

    def _client(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", 80, timeout=60)
        while not self.is_over:
            try:
                connection.request("GET", path)
                response = connection.getresponse()
                response.read()
                if response.status != 200:
                    self.failures.append((path, response.status))
                # The words of a server that closes a kept connection; any client connects again.
                if response.getheader("Connection") == "close":
                    connection.close()
            except (OSError, http.client.HTTPException) as error:
                self.failures.append((path, repr(error)))
                connection.close()
            self.n_requests += 1


# --- steps ---------------------------------------------------------------------------------------


@step
def they_are_installed():
    said = apt("install", *packages(OLD))
    assert pwd.getpwnam("corral").pw_uid < 1000, "a system's user"
    for path in (
        "/etc/corral/corral.yaml", "/etc/corral/conf.d", "/etc/default/corral", "/etc/logrotate.d/corral",
        "/etc/apparmor.d/corral", "/var/lib/corral", "/var/log/corral", "/usr/share/corral/welcome/index.html",
        "/usr/share/man/man1/corral.1.gz", "/usr/share/man/man1/corral-upgrade.1.gz",
        "/usr/share/bash-completion/completions/corral", "/usr/share/zsh/vendor-completions/_corral",
        "/usr/share/fish/vendor_completions.d/corral.fish", "/usr/share/doc/corral/examples", "/usr/share/doc/corral/manual",
        "/usr/share/corral/prometheus/corral.rules.yml", "/usr/share/corral/grafana/corral.json",
        "/etc/systemd/system/multi-user.target.wants/corral.service", "/usr/share/corral/go/go.mod", "/usr/bin/corral-lab",
    ):
        assert os.path.exists(path) or os.path.islink(path), f"{path} is missing\n{said}"
    assert oct(os.stat("/var/lib/corral").st_mode & 0o777) == "0o700"
    assert not os.path.exists("/etc/systemd/system/sockets.target.wants/corral.socket"), "sockets are for those who want them"
    assert daemon_pid() is None, "there is no systemd to start it"
    run("bash", "-n", "/usr/share/bash-completion/completions/corral")
    assert os.stat("/usr/bin/corral").st_size < 60 << 20, "it is stripped"


@step
def its_configuration_is_right():
    run("corral", "check", "/etc/corral/corral.yaml", "/etc/corral/conf.d")
    run("corral-lab", "--help")


@step
def it_starts_beside_nginx_and_apache():
    os.makedirs("/run/lock", exist_ok=True)
    for start, stop, name in (("nginx", "nginx -s stop", "nginx"), ("apache2ctl start", "apache2ctl stop", "apache2")):
        run(*start.split())
        eventually("the other server answers", status)
        start_service()
        told = eventually("it says so", lambda: (text := run("corral", "status", check=False)) and "does not listen" in text and text)
        assert re.search(rf"\b{name} \(process \d+\) listens there", told), told
        run(*stop.split())
        eventually("it has the port", lambda: (answer := status()) and "Corral is running" in answer[1])
        stop_service()


def stop_service():
    pid = daemon_pid()
    os.kill(pid, signal.SIGQUIT)
    eventually("it has ended", lambda: not os.path.exists(f"/proc/{pid}"))


APPLICATIONS = {
    "php": ("index.php", "<?php echo 'php ', PHP_MAJOR_VERSION;", {"root": "/srv/php"}),
    "python": ("wsgi.py", "def application(e, s):\n    s('200 OK', [])\n    return [b'python 3']\n", {"path": "/srv/python", "module": "wsgi"}),
    "ruby": ("config.ru", "run ->(env) { [200, {}, ['ruby']] }\n", {"script": "/srv/ruby/config.ru"}),
    "perl": ("app.psgi", "sub { [200, [], ['perl']] };\n", {"script": "/srv/perl/app.psgi"}),
    "java": ("index.jsp", "java <%= 40 + 2 %>\n", {"webapp": "/srv/java"}),
    "node": (
        "app.js", "require('/usr/share/corral/node').createServer((request, response) => response.end('node')).listen()\n",
        {"type": "external", "working_directory": "/srv/node", "executable": "/usr/bin/env", "arguments": "[node, app.js]"},
    ),
}


@step
def it_serves_every_language():
    lines = ["applications:"]
    for name, (file, source, options) in APPLICATIONS.items():
        os.makedirs(f"/srv/{name}", exist_ok=True)
        Path(f"/srv/{name}/{file}").write_text(source)
        lines += [f"  {name}:"] + [f"    {key}: {value}" for key, value in ({"type": name} | options).items()]
    Path("/etc/corral/conf.d/applications.yaml").write_text("\n".join(lines) + "\n")
    steps = [f"    - match: {{uri: [/{name}, /{name}/*]}}\n      action: {{rewrite: /, pass: applications/{name}}}" for name in APPLICATIONS]
    Path("/etc/corral/conf.d/routes.yaml").write_text("routes:\n  site:\n" + "\n".join(steps) + "\n")
    Path("/etc/corral/conf.d/log.yaml").write_text("access_log: /var/log/corral/access.log\n")
    main = Path("/etc/corral/corral.yaml")
    # The owner changes the package's file, too, and no upgrade may ask about it.
    main.write_text(main.read_text().replace("pass: routes/welcome", "pass: routes/site"))
    run("corral", "check", "/etc/corral/corral.yaml", "/etc/corral/conf.d")
    start_service()
    for name in APPLICATIONS:
        answer = eventually(f"{name} answers", lambda path=f"/{name}": (got := status(path=path)) and got[0] == 200 and got)
        assert answer[1].startswith(name), answer


@step
def logs_are_rotated():
    log = Path("/var/log/corral/access.log")
    assert "/php" in log.read_text()
    run("logrotate", "--force", "/etc/logrotate.d/corral")
    eventually("a new log is written", lambda: status(path="/perl") and log.exists() and "/perl" in log.read_text())
    assert os.path.exists(f"{log}.1")


def change_version(said_and_done, expected):
    """Another version takes over while clients ask, and what it has taken over from ends."""
    before = daemon_pid()
    with Load([f"/{name}" for name in APPLICATIONS]):
        said = said_and_done()
        after = daemon_pid()
        assert after and after != before, f"process {before} still serves\n{said}\n{Path('/tmp/journal').read_text()[-3000:]}"
        eventually("the one before ends", lambda: not os.path.exists(f"/proc/{before}"))
    assert installed_version() == expected, said
    assert said.count("serves; process") == 1, said
    assert "routes/site" in Path("/etc/corral/corral.yaml").read_text()


def version_in(folder: Path) -> str:
    return run("dpkg-deb", "--field", packages(folder, "corral")[0], "Version")


@step
def an_upgrade_loses_no_request():
    change_version(lambda: apt("install", *packages(NEW)), version_in(NEW).strip())


@step
def an_upgrade_that_fails_leaves_the_old_one():
    broken = Path("/etc/corral/conf.d/broken.yaml")
    broken.write_text("listeners: 7\n")
    before = daemon_pid()
    with Load(["/php"]):
        said = apt("install", "--reinstall", *packages(NEW, "corral"))
        assert daemon_pid() == before, said
    assert "the old one goes on serving" in said, said
    broken.unlink()


@step
def a_policy_can_forbid_it():
    policy = Path("/usr/sbin/policy-rc.d")
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    before = daemon_pid()
    said = apt("install", "--reinstall", *packages(NEW, "corral"))
    assert daemon_pid() == before and "policy-rc.d forbids" in said, said
    policy.unlink()


@step
def a_downgrade_loses_no_request():
    change_version(lambda: apt("install", "--allow-downgrades", *packages(OLD)), version_in(OLD).strip())


@step
def hosts_go_by_themselves():
    apt("remove", "corral-ruby")
    assert status(path="/php")[0] == 200


@step
def removal_keeps_what_is_the_owner_s():
    Path("/var/lib/corral/kept").write_text("")
    pid = daemon_pid()
    said = apt("remove", "corral*")
    assert not os.path.exists(f"/proc/{pid}"), said
    assert status() is None
    for path in ("/etc/corral/corral.yaml", "/etc/corral/conf.d/routes.yaml", "/var/lib/corral/kept", "/var/log/corral/access.log"):
        assert os.path.exists(path), f"{path} is gone\n{said}"
    assert not os.path.exists("/usr/bin/corral")


@step
def it_comes_back_as_it_was():
    apt("install", *packages(NEW))
    start_service()
    eventually("it answers", lambda: (got := status(path="/php")) and got[0] == 200)


@step
def purging_leaves_nothing():
    said = apt("purge", "corral*")
    left = run("find", "/", "-xdev", "-iname", "*corral*", "-not", "-path", "/proc/*", "-not", "-path", "/tmp/*",
               "-not", "-path", "/packages/*", "-not", "-path", "/var/cache/apt/*").split()
    assert not left, f"{left}\n{said}"
    users = [user.pw_name for user in pwd.getpwall()]
    assert "corral" not in users
    assert "corral" not in run("dpkg-query", "-W", "-f=${Package} ${db:Status-Abbrev}\n")


def main() -> int:
    started = time.monotonic()
    for n_before, function in enumerate(STEPS):
        name, began = function.__name__, time.monotonic()
        try:
            function()
        except Exception as error:
            print(f"{name}: FAILED\n{error if isinstance(error, AssertionError) else repr(error)}")
            if os.path.exists("/tmp/journal"):
                print("--- what the daemon said last", Path("/tmp/journal").read_text()[-2000:], sep="\n")
            print(f"Ran {n_before + 1} tests in {time.monotonic() - started:.0f}s\nFAILED (failures=1)")
            return 1
        print(f"{name}: ok, {time.monotonic() - began:.1f} s", flush=True)
    print(f"Ran {len(STEPS)} tests in {time.monotonic() - started:.0f}s")
    return 0


sys.exit(main())
