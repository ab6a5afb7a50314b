#!/bin/sh
# Makes an image of a root of Debian; the Dockerfile and scripts/try-container call it.
#
#   setup.sh FOLDER LANGUAGE...    packages in FOLDER; languages are their names: php8.2 python3 ruby perl wasm java node go
set -eu

folder=$1
shift
set -- $(for language in "$@"; do echo "$folder"/corral-"$language"_*.deb; done)

# The numbers of Unit's images; the package would choose another one for its user.
groupadd --gid 999 unit
useradd --uid 999 --gid unit --no-create-home --home /nonexistent --shell /bin/false unit
groupadd --gid 998 corral
useradd --uid 998 --gid corral --no-create-home --home /nonexistent --shell /bin/false corral

export DEBIAN_FRONTEND=noninteractive
apt-get install --quiet --yes --no-install-recommends ca-certificates "$folder"/corral_*.deb "$@"
rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/apt /var/log/dpkg.log /usr/share/doc/* /usr/share/man/*

for name in unitd unitd-debug unitc unitctl; do
    ln -s corral "/usr/bin/$name"
done
mkdir -p /docker-entrypoint.d /usr/lib/unit/modules /var/lib/unit
ln -sf /dev/stderr /var/log/unit.log
# Files that the daemon writes are for any user: the owner of the image says as which one it runs.
chmod 1777 /run /var/lib/unit
