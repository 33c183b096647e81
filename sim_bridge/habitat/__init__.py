"""The backend `habitat`: habitat-sim in a child process, and the data sets that it loads."""
