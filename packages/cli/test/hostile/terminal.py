"""Runs a command in a terminal of its own. Its input goes to the terminal, its output is what the terminal shows.

Arguments: the command, its environment and its directory as JSON. Says "pid <n>" and "exit <code>" on stderr.
"""
import fcntl, json, os, pty, select, struct, sys, termios

command, environment, directory = json.loads(sys.argv[1])
pid, terminal = pty.fork()
if pid == 0:
    os.chdir(directory)
    os.execvpe(command[0], command, environment)
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
sys.stderr.write("pid %d\n" % pid)
sys.stderr.flush()
sources = [terminal, 0]
while terminal in sources:
    for source in select.select(sources, [], [])[0]:
        try:
            data = os.read(source, 65536)
        except OSError:
            data = b""
        if not data:
            sources.remove(source)
        elif source == terminal:
            os.write(1, data)
        else:
            os.write(terminal, data)
_, status = os.waitpid(pid, 0)
sys.stderr.write("exit %d\n" % os.waitstatus_to_exitcode(status))
