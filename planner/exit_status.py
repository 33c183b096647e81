"""Exit statuses shared by all processes, by which a supervisor tells ends apart."""

EXIT_OK = 0
EXIT_FAILED = 1
# A wrong argument, as in argparse.
EXIT_USAGE = 2
# As shells report Ctrl-C.
EXIT_INTERRUPTED = 130
# A configuration error that no restart can fix: a wrong file, a second bridge in the domain.
# The number is EX_CONFIG of sysexits.h. The supervisor does not restart such a process.
EXIT_CONFIGURATION = 78
