#!/bin/sh
# Installs this folder below /usr/local, or below PREFIX. `PREFIX=/opt/corral ./install.sh`; nothing else is changed.
#
# Languages whose libraries this machine lacks are left out, and said. corral needs glibc @GLIBC@ or later; root for /usr/local.
set -eu
if [ $# -gt 0 ]; then
    echo "usage: [PREFIX=/opt/corral] ./install.sh" >&2
    exit 2
fi
cd "$(dirname "$0")"
prefix=${PREFIX:-/usr/local}

# Libraries that the executable needs and that are missing.
missing() { LC_ALL=C ldd "$1" 2>&1 | grep -e 'not found' || true; }

if [ -n "$(missing bin/corral)" ]; then
    echo "install.sh: this machine lacks what corral needs:" >&2
    missing bin/corral >&2
    exit 1
fi

mkdir -p "$prefix"
for folder in lib share; do
    cp -R "$folder" "$prefix/"
done
mkdir -p "$prefix/bin"
for executable in bin/*; do
    if [ -n "$(missing "$executable")" ]; then
        echo "left out: $executable, as this machine lacks"
        missing "$executable"
        continue
    fi
    # In one step, so that a daemon that runs keeps what it has.
    cp "$executable" "$prefix/$executable.new"
    mv "$prefix/$executable.new" "$prefix/$executable"
done
unit=$prefix/lib/systemd/system/corral.service
sed "s,/usr/bin/corral,$prefix/bin/corral," lib/systemd/system/corral.service >"$unit"

echo "installed below $prefix. A site in one command: $prefix/bin/corral run /path/to/site"
echo "As a service: systemd-sysusers $prefix/lib/sysusers.d/corral.conf; systemctl enable --now $unit"
