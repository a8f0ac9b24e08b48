"""The causes of a changefeed's state: in a table of causes, the first that holds explains it.

`why` and `status` pass what target and source show, the metrics what the consumer itself knows.
"""
