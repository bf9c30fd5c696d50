#!/bin/sh
# Print the first Python on the path that mace runs on; say what is missing otherwise. PYTHON=... overrides.
set -u
able='import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))'
for python in ${PYTHON:-python3 python3.13 python3.12 python3.11 python}; do
    # A name on the path may be a wrapper around nothing: only running it tells.
    if "$python" -c "$able" >/dev/null 2>&1; then
        echo "$python"
        exit 0
    fi
done
{
    echo "mace needs Python 3.11 or newer with venv; tried: ${PYTHON:-python3 python3.13 python3.12 python3.11 python}"
    echo "python3 here: $(python3 --version 2>&1 || true)"
    echo "Install one (Debian, Ubuntu: apt install python3 python3-venv), or name it: make PYTHON=/path/to/python3.12 demo"
} >&2
exit 1
