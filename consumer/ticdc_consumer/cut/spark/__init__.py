"""The Spark session, its Java, and the jobs that read a cut. These modules run in the driver;
Spark's workers run the functions that `jobs.py` and `traces.py` send them."""
