#!/usr/bin/env python3
"""Runs a command with a PostgreSQL server of its own, whose address is in `INTERLINGUA_TEST_POSTGRES`.

    python3 tests/daemon/postgres.py cargo test --package interlingua-daemon --features postgres --test mock

The server runs in a temporary folder on a free port of the loopback address, and ends with the command. Without the
server's programs, Debian's package is installed, which needs root.
"""

import glob
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile

NOBODY = 65534  # the server refuses to run as root


def programs():
    """The folder with the programs of the newest installed server."""
    found = shutil.which("initdb")
    if found:
        return pathlib.Path(found).resolve().parent
    folders = glob.glob("/usr/lib/postgresql/*/bin/initdb")
    return pathlib.Path(max(folders, key=lambda path: int(path.split("/")[4]))).parent if folders else None


def main():
    if not programs():
        subprocess.run(["apt-get", "update", "--quiet"], check=True)
        subprocess.run(["apt-get", "install", "--yes", "--quiet", "postgresql"], check=True)
    binaries = programs()
    as_user = {"user": NOBODY, "group": NOBODY} if os.getuid() == 0 else {}
    with tempfile.TemporaryDirectory() as folder, socket.socket() as listener:
        if as_user:
            os.chown(folder, NOBODY, NOBODY)
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        listener.close()
        quiet = {"check": True, "cwd": "/", "stdout": subprocess.DEVNULL, **as_user}
        data = f"{folder}/data"
        subprocess.run([binaries / "initdb", "-D", data, "-U", "test", "--auth=trust", "--no-sync", "-E", "UTF8"], **quiet)
        options = f"-F -p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={data} -c max_connections=400"
        subprocess.run([binaries / "pg_ctl", "-D", data, "-o", options, "-l", f"{folder}/log", "-w", "start"], **quiet)
        try:
            environment = {**os.environ, "PATH": f"{binaries}:{os.environ['PATH']}",
                           "INTERLINGUA_TEST_POSTGRES": f"postgres://test@127.0.0.1:{port}/postgres"}
            return subprocess.run(sys.argv[1:], env=environment).returncode
        finally:
            subprocess.run([binaries / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop"], **quiet)


sys.exit(main())
