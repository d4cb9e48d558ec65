import { z } from "@hono/zod-openapi";
import { BI_KEY_LIMITS } from "../access/bi-keys/bi-keys.ts";
import { connectionTexts } from "../access/bi-keys/connection-texts.ts";
import { ALL_VIEWS } from "../access/bi-keys/known/known-bi-key.ts";
import { time } from "./fields.ts";
import { keyExpiry, keyIpAllow, keyName, keyState } from "./key-fields.ts";

/** BI keys as the routes read and show them. */

const DATASET = /^(?:\*|[a-z][a-z0-9_]{0,62})$/;
const MAX_DATASETS = 100;
const MAX_ROWS = 1_000_000_000;
const MAX_SECONDS = 600;
const MAX_CONNECTIONS = 1_000;

const changeable = {
  name: keyName,
  state: keyState,
  datasets: z
    .array(
      z
        .string()
        .regex(
          DATASET,
          "a name of a-z, 0-9 and _, a letter first, up to 63 characters, or * alone",
        ),
    )
    .max(MAX_DATASETS)
    .refine((names) => new Set(names).size === names.length, "each name once")
    .refine((names) => names.length <= 1 || !names.includes(ALL_VIEWS), "* alone, or names")
    .openapi({
      description:
        "Names of the views that it may read: those of `GET /v1/data`, which are datasets and built in. " +
        "`*` alone is all, those to come too; empty reads none. A name counts for whatever has it: " +
        "the key also reads a dataset that takes it after another one was deleted or renamed.",
      example: ["orders", "usage_by_day"],
    }),
  row_limit: z
    .int()
    .min(1)
    .max(MAX_ROWS)
    .openapi({ description: "Rows that one statement may bring.", example: 1_000_000 }),
  timeout_seconds: z
    .int()
    .min(1)
    .max(MAX_SECONDS)
    .openapi({ description: "Seconds that one statement may take.", example: 30 }),
  max_connections: z.int().min(1).max(MAX_CONNECTIONS).openapi({
    description:
      "Its connections to the PostgreSQL port at once, and as many reads by HTTP; a further read gets 429.",
    example: 10,
  }),
  ip_allow: keyIpAllow,
  expires_at: keyExpiry,
};

export const newBiKey = z
  .strictObject({
    name: changeable.name,
    datasets: changeable.datasets.default([]),
    row_limit: changeable.row_limit.default(BI_KEY_LIMITS.rowLimit),
    timeout_seconds: changeable.timeout_seconds.default(BI_KEY_LIMITS.timeoutSeconds),
    max_connections: changeable.max_connections.default(BI_KEY_LIMITS.maxConnections),
    ip_allow: changeable.ip_allow.default([]),
    expires_at: changeable.expires_at.default(null),
  })
  .openapi("NewBiKey", { example: { name: "monthly report", datasets: ["orders"] } });

export const biKeyChange = z
  .strictObject(z.object(changeable).partial().shape)
  .openapi("BiKeyChange", { example: { datasets: ["orders", "customers"] } });

const EXAMPLE = {
  id: "bik_3v9QmTq2LxZ8cR5nYb7KdW",
  object: "bi_key",
  name: "monthly report",
  state: "active",
  datasets: ["orders"],
  row_limit: 1_000_000,
  timeout_seconds: 30,
  max_connections: 10,
  ip_allow: [],
  expires_at: null,
  prefix: "bk-",
  last_four: "q7Zf",
  owner_id: "usr_7hB2kXw9PfM4sVt6JcN1Ra",
  created_at: "2026-09-21T13:33:20.000Z",
  last_used_at: null,
};

export const biKey = z
  .object({
    id: z.string(),
    object: z.literal("bi_key"),
    ...changeable,
    prefix: z.literal("bk-"),
    last_four: z.string().openapi({ description: "The end of its secret." }),
    owner_id: z.string(),
    created_at: time,
    last_used_at: time.nullable(),
  })
  .openapi("BiKey", { example: EXAMPLE });

const EXAMPLE_SECRET = `bk-${"x".repeat(39)}${EXAMPLE.last_four}`;
const EXAMPLE_ADDRESS = {
  ...{ host: "gateway.example.com", port: 5434, reason: null },
  origin: "https://gateway.example.com",
};

const portText = (description: string) => z.string().nullable().openapi({ description });
const connections = z
  .object({
    uri: portText(
      "A URI, as libpq and its clients read it. Node's `pg` needs `uselibpqcompat=true&` before `sslmode`.",
    ),
    psql: portText("A command for a shell."),
    jdbc: portText("For the JDBC driver."),
    dotnet: portText("For Npgsql, which Power BI uses too."),
    sqlalchemy: portText(
      "For SQLAlchemy 2 with psycopg 3; write `postgresql+psycopg2` for psycopg 2 or SQLAlchemy 1.4.",
    ),
    odbc: portText("For psqlODBC."),
    http: z.string().openapi({ description: "A command that reads over HTTP." }),
    fields: z
      .object({
        host: z.string(),
        port: z.int(),
        database: z.string(),
        user: z.string(),
        sslmode: z.string(),
      })
      .nullable()
      .openapi({
        description:
          "For forms with single fields, such as those of Metabase, Grafana and Power BI. The password is the key.",
      }),
    reason: z.string().nullable().openapi({
      description: "Why there is no text for the PostgreSQL port; null where there is.",
    }),
  })
  .openapi("BiKeyConnections");

export const issuedBiKey = biKey
  .extend({
    key: z.string().openapi({ description: "The secret. It is shown this once." }),
    connections: connections.openapi({
      description:
        "Texts to paste into clients. They have the secret, so they are shown this once.",
    }),
  })
  .openapi("IssuedBiKey", {
    example: {
      ...EXAMPLE,
      key: EXAMPLE_SECRET,
      connections: connectionTexts(EXAMPLE_ADDRESS, {
        name: EXAMPLE.name,
        secret: EXAMPLE_SECRET,
      }),
    },
  });
