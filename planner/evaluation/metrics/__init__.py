"""The papers' metrics, each a pure function of traces with its formula and source."""
