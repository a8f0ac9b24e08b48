"""What each command of `ticdc-consumer` does. `cli/` parses, prints and exits; `api/` is the face
for programs."""
