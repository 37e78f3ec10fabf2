"""on-terminal.py COMMAND...: runs it on a terminal of its own, prints what it writes there, and exits as it does.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
import os
import pty
import sys

sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))
