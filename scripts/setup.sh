#!/usr/bin/env bash
# Sets up what a command of the Makefile needs, and does nothing when it is there already.
#   setup.sh environment DIR LOCK   a virtual environment with the packages of a lock, and this project
#   setup.sh elastic-blast DIR LOCK a virtual environment with the packages of a lock alone
#   setup.sh blast                  BLAST+, by the system's package manager when it may
#   setup.sh browser                Chromium, likewise
#   setup.sh postgres               PostgreSQL for the tests, likewise; they start a server of their own
#   setup.sh examples               20,000 proteins and 500 queries for the engine's benchmark, likewise
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { printf 'coordui: %s\n' "$*" >&2; exit 1; }

# install "WHAT FOR" PACKAGE... : with apt-get as root or by a sudo that does not ask.
install() {
    local what=$1; shift
    local as=()
    command -v apt-get >/dev/null || fail "$what is missing. Install it (on Debian: apt-get install $*) and start again."
    if [ "$(id -u)" != 0 ]; then
        sudo -n true 2>/dev/null || fail "$what is missing. Run: sudo apt-get install $*"
        as=(sudo -n)
    fi
    printf 'coordui: installing %s: apt-get install %s\n' "$what" "$*"
    local run=("${as[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=120)
    "${run[@]}" install -y --no-install-recommends "$@" >/dev/null 2>&1 && return
    # The list of packages may be absent or old, as on a fresh machine.
    "${run[@]}" update >/dev/null && "${run[@]}" install -y --no-install-recommends "$@" >/dev/null \
        || fail "$what could not be installed. Install it by hand: apt-get install $*"
}

find_python() {
    local candidate
    for candidate in ${PYTHON:-} python3.11 python3.12 python3.13 python3; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"; return
        fi
    done
    return 1
}

packages() {
    local venv=$1 lock=$2 python
    # Made anew by a clone into another folder or a new Python: an environment that does not run is no environment.
    if ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
        python=$(find_python) || { install "Python 3.11 or newer" python3 python3-venv; python=$(find_python); } \
            || fail "Python 3.11 or newer is missing, and this system's python3 is older. Install it and start again."
        "$python" -c 'import ensurepip, venv' 2>/dev/null || install "Python's venv module" python3-venv
        rm -rf "$venv"
        "$python" -m venv "$venv"
    fi
    echo "coordui: installing the packages of $lock into $venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r "$lock"
}


environment() {
    local venv=$1
    packages "$@"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
    # Where nobody may write later, as in the image, every start would compile them again.
    "$venv/bin/python" -m compileall -q coordui submits
}

case ${1:-} in
    environment) environment "$2" "$3" ;;
    elastic-blast) packages "$2" "$3" ;;
    blast) command -v blastn >/dev/null && command -v makeblastdb >/dev/null || install "BLAST+" ncbi-blast+ ;;
    postgres) command -v initdb >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || install "PostgreSQL" postgresql ;;
    browser) command -v chromium >/dev/null || install "Chromium" chromium ;;
    examples) [ -s /usr/share/doc/mmseqs2/example-data/DB.fasta.gz ] || install "The example proteins" mmseqs2-examples ;;
    *) fail "usage: scripts/setup.sh environment DIR LOCK | elastic-blast DIR LOCK | blast | browser | postgres | examples" ;;
esac
