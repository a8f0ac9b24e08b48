"""Why a changefeed is where it is: a table of causes, of which the first that holds explains it.

`why` and `status` ask it with what target and source show, the metrics with what the consumer
itself is at.
"""
