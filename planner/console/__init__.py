"""The console: one page in the browser for a running stack or a bag (docs/console.md)."""
