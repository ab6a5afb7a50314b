#!/bin/sh
# What runs before the command of the image; see docs/src/containers.md.
exec corral entrypoint "$@"
