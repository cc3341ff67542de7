#!/bin/sh
# Prints the version of the tree: its tag, or what lies behind the last tag.
set -eu
git describe --tags --match 'v[0-9]*' --dirty --always 2>/dev/null | sed 's/^v//'
