"""The API over HTTP: paths, queries and formats in; lists, watches and tables out."""
