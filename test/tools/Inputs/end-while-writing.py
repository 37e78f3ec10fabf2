# end-while-writing.py SIGNAL FILE COMMAND...: ends the command by the signal while it writes the file; nothing of that is left.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import glob, signal, subprocess, sys, time

number = getattr(signal, "SIG" + sys.argv[1])
# What a shell runs in the background is not interrupted by SIGINT, unless it is asked for.
signal.signal(number, signal.SIG_DFL)
process = subprocess.Popen(sys.argv[3:])
deadline = time.time() + 60
while not glob.glob(sys.argv[2] + ".*") and process.poll() is None and time.time() < deadline:
    time.sleep(0.005)
process.send_signal(number)
code = process.wait()
left = glob.glob(sys.argv[2] + "*")
if code != -number or left:
    sys.exit("exit code %d, left: %s" % (code, left))
