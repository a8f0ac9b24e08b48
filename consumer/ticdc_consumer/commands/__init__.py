"""The commands of `ticdc-consumer`. `cli/` parses, prints and exits; `api/` is the interface for
programs."""
