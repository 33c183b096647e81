"""Policy improvement: DDAFT and its rivals behind one loop (EPM-2.8)."""
