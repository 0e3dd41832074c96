#!/usr/bin/env bash
# Makes the virtual environment: called by `make setup`, by way of every other target.
set -euo pipefail
python=${PYTHON:-python3}
venv=${VENV:-.venv}
fail() { printf 'setup: %s\n' "$*" >&2; exit 1; }

command -v "$python" >/dev/null || fail "$python is not there: install Python 3.11 or newer, or say PYTHON=/path/to/python make setup"
"$python" - <<'PY' || fail "$("$python" --version 2>&1) is too old: Python 3.11 or newer is needed (PYTHON=/path/to/python make setup)"
import sys
sys.exit(sys.version_info < (3, 11))
PY
printf 'setup: about 620 MB are downloaded from the Python package index, three quarters of them Spark; %s takes 1.1 GB\n' "$venv"
if [ ! -x "$venv/bin/python" ]; then
  printf 'setup: making %s\n' "$venv"
  "$python" -m venv "$venv" || fail "no virtual environment could be made: on Debian, apt-get install python3-venv"
fi
printf 'setup: installing packages (a minute or two)\n'
install() { # its notes are of no use to a user, and all there is when it fails
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@" >"$venv/pip.log" 2>&1 ||
    { cat "$venv/pip.log" >&2; fail "the packages could not be installed, see above"; }
}
install --upgrade 'pip>=25.1'
install --constraint constraints.txt --editable '.[analysis]' --group dev
# Every start of a node or a command reads these: with PYTHONDONTWRITEBYTECODE set each would compile them anew.
"$venv/bin/python" -m compileall -q kraft metadata_log pyspark_kraft quorum broker_agent || fail "the modules could not be compiled, see above"
printf 'setup: ready, the command is %s/bin/kraft\n' "$venv"
