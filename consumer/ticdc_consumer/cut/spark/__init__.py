"""The Spark session, its Java, and the jobs that read a cut."""
