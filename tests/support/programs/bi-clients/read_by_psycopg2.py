"""Reads through psycopg 2 as a report would, and prints one JSON object of what it saw."""
import json
import os

import psycopg2
import psycopg2.extras

place = dict(
    host=os.environ["BI_HOST"],
    port=os.environ["BI_PORT"],
    user="report",
    dbname="data",
    password=os.environ["BI_KEY"],
    sslmode=os.environ.get("BI_SSLMODE", "require"),
)
seen = {}
with psycopg2.connect(**place) as connection:
    with connection.cursor(cursor_factory=psycopg2.extras.RealDictCursor) as cursor:
        cursor.execute("select 1 as one, %s::text as given", ("a'b",))
        seen["row"] = dict(cursor.fetchone())
        cursor.execute("select count(*) as rows from requests where started_at < now() and model = %s", ("none",))
        seen["none"] = cursor.fetchone()["rows"]
    with connection.cursor("pages") as cursor:
        cursor.itersize = 1_000
        cursor.execute("select n from generate_series(1, 25000) as n")
        seen["cursor"] = sum(row[0] for row in cursor)
    connection.rollback()
    cursor = connection.cursor()
    try:
        cursor.execute("delete from requests")
        seen["refused"] = None
    except psycopg2.Error as error:
        seen["refused"] = error.pgcode
    connection.rollback()
    cursor.execute("select 2")
    seen["after"] = cursor.fetchone()[0]
    connection.rollback()
    connection.set_session(readonly=True, autocommit=True)
    cursor.execute("select current_setting('transaction_read_only'), version() like 'PostgreSQL%'")
    seen["session"] = list(cursor.fetchone())
    seen["version"] = connection.server_version // 10_000
connection.close()
print(json.dumps(seen))
