"""The backend `habitat`: habitat-sim in a child process, and the datasets that it loads."""
