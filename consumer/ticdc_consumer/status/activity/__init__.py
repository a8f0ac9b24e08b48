"""What a consumer is at: `Monitor` takes the reports of its steps, `Activity` is one look at it,
`ActivityRecorder` writes that into the target beside the data's transactions."""
