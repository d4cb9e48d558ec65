"""Reflects the schema `data` as SQLAlchemy does for every tool above it, and reads a view by its model."""
import json
import os
from urllib.parse import quote

import sqlalchemy as sa

url = (
    f"postgresql+psycopg2://report:{quote(os.environ['BI_KEY'])}@{os.environ['BI_HOST']}:{os.environ['BI_PORT']}/data"
    f"?sslmode={os.environ.get('BI_SSLMODE', 'require')}"
)
engine = sa.create_engine(url)
inspector = sa.inspect(engine)
names = sorted(set(inspector.get_view_names("data")) | set(inspector.get_table_names("data")))
seen = {"schemas": inspector.get_schema_names(), "names": names}
seen["columns"] = {
    column["name"]: str(column["type"]) for column in inspector.get_columns("usage_by_day", "data")
}
seen["keys"] = inspector.get_foreign_keys("usage_by_day", "data")
seen["comment"] = inspector.get_table_comment("usage_by_day", "data")["text"]
table = sa.Table("usage_by_day", sa.MetaData(schema="data"), autoload_with=engine)
with engine.connect() as connection:
    total = sa.select(sa.func.sum(table.c.requests))
    seen["requests"] = connection.execute(total).scalar()
print(json.dumps(seen, default=str))
