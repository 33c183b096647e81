"""Planning: prompts, parsers and planners; the chat models behind one protocol in `llm`."""
