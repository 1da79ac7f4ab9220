"""A reader for each agent's log, written from what the programs write, not from how the converter reads it.

A module has `NAME` (the dialect), `mine(values)` (whether the JSON values of a file are such a log) and `read(values)`, which
gives a `Facts`, or one for each session where a file may hold several. The more particular come first.
"""

from agents import (
    aider, amp, claude_code, cline, codex, copilot_chat, copilot_cli, crush, cursor, cursor_db, droid, gemini_cli, goose, kimi_cli,
    kimi_code, opencode, pi, qwen_code)

AGENTS = [
    aider, crush, copilot_chat, copilot_cli, kimi_code, kimi_cli, qwen_code, droid, goose, cline, pi, amp, opencode, gemini_cli, codex,
    claude_code, cursor_db, cursor]
for agent in AGENTS:
    agent.TAKES_LISTS = agent in (gemini_cli, opencode)  # a bare list of messages
