"""PostgreSQL: COPY in text format, through psycopg."""
