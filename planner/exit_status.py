"""Exit statuses that processes of this stack share, so that a supervisor can tell ends apart."""

EXIT_OK = 0
EXIT_FAILED = 1
# A wrong argument, as argparse has it.
EXIT_USAGE = 2
# What shells make of Ctrl-C.
EXIT_INTERRUPTED = 130
# A setting or a surrounding that no restart can mend: a wrong file, a second bridge in the
# domain. The number is EX_CONFIG of sysexits.h. Such a process is not started again.
EXIT_CONFIGURATION = 78
