"""Any synchronous context-free grammar, decoded bottom-up (CKY) and readably: for foreign grammars and as an oracle."""
