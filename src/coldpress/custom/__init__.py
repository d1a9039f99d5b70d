"""Custom: functions that answer with a person's own class, described by a coldpress.toml."""
