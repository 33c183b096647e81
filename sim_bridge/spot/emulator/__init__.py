"""An emulator that speaks Spot's protocol over TLS; its world is the embedded simulator."""
