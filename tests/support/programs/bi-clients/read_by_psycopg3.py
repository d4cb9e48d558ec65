"""Reads through psycopg 3: prepared statements, a pipeline where the library has one, a server-side cursor."""
import json
import os

import psycopg

place = (
    f"host={os.environ['BI_HOST']} port={os.environ['BI_PORT']} user=report dbname=data "
    f"password={os.environ['BI_KEY']} sslmode={os.environ.get('BI_SSLMODE', 'require')}"
)
seen = {}
with psycopg.connect(place, prepare_threshold=0) as connection:
    seen["prepared"] = [
        connection.execute("select %s::int + 1", (number,)).fetchone()[0] for number in range(20)
    ]
    with connection.cursor(name="pages") as cursor:
        cursor.execute("select n from generate_series(1, 25000) as n")
        seen["cursor"] = sum(row[0] for row in cursor)
    connection.rollback()
    try:
        with connection.transaction():
            connection.execute("update requests set model = 'x'")
        seen["refused"] = None
    except psycopg.Error as error:
        seen["refused"] = error.sqlstate
    seen["after"] = connection.execute("select 2").fetchone()[0]
    with connection.transaction():
        with connection.transaction():
            seen["nested"] = connection.execute("select 3").fetchone()[0]
    rows = connection.execute("select model, requests from usage_by_day order by model").fetchall()
    seen["usage"] = [list(row) for row in rows]
print(json.dumps(seen, default=str))
