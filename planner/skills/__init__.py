"""Skills: PARTNR's and EPM's calls, grounded in the belief and executed as primitives."""
