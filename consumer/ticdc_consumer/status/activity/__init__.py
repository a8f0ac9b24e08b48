"""The activity of a consumer: `Monitor` takes the reports of its steps, `Activity` is one snapshot,
`ActivityRecorder` writes that into the target outside the data's transactions."""
