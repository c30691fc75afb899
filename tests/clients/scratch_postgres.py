"""A scratch cluster of PostgreSQL beside which Hotrow is measured (Debian: postgresql-15)."""

import glob
import os
import pwd
import shutil
import subprocess

PORT = 5499


def is_there():
    return bool(glob.glob("/usr/lib/postgresql/*/bin/initdb"))


class Postgres:
    """A cluster in a directory of its own in `work`, owned by an unprivileged user; listens on this machine. Each of
    `settings` is a setting and its value, as in fsync=off; else they are PostgreSQL's own. Ends with its `with`."""

    name = "postgres"
    port = PORT
    database = "postgres"

    def __init__(self, work, *settings):
        self.bin = max(glob.glob("/usr/lib/postgresql/*/bin"))
        self.user = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
        self.data = os.path.join(work, "postgres")
        os.mkdir(self.data)
        shutil.chown(self.data, self.user)
        os.chmod(work, 0o755)
        self.run("initdb", "-D", self.data, "-A", "trust", "-U", "tester")
        own = ["max_connections=200", "shared_buffers=256MB", f"port={PORT}", f"unix_socket_directories={self.data}"]
        options = " ".join(f"-c {setting}" for setting in [*own, *settings])
        self.run("pg_ctl", "-D", self.data, "-o", options, "-w", "-l", os.path.join(self.data, "log"), "start")
        self.conninfo = f"host={self.data} port={PORT} user=tester dbname={self.database}"

    def run(self, program, *arguments):
        command = [os.path.join(self.bin, program), *arguments]
        if os.geteuid() == 0:
            command = ["runuser", "-u", self.user, "--", *command]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=self.data)

    def stop(self):
        self.run("pg_ctl", "-D", self.data, "-m", "immediate", "stop")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
