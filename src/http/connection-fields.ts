import { z } from "@hono/zod-openapi";
import { CONNECTION_KINDS } from "../tools/connections/connection.ts";
import { count, storableText, time } from "./fields.ts";
import { byOffset, countedList, page } from "./page.ts";

/** Saved connections as administrators send and see them. */

const MAX_NAME = 64;
const MAX_HOST = 253;
const MAX_IDENTIFIER = 128;
const MAX_FILE = 500;
const MAX_DESCRIPTION = 1_000;
const MAX_PORT = 65_535;

/** A text on one line. */
const line = (maxLength: number) =>
  storableText(maxLength)
    .min(1)
    .refine((text) => !/\p{Cc}/u.test(text), "a text without control characters");

const kind = z.enum(CONNECTION_KINDS).openapi({
  description: "`mysql` is MariaDB, too. It cannot be changed.",
});

const changeable = {
  name: line(MAX_NAME).openapi({
    description:
      "Unique, whatever its case. Assistants' `sql_connections` and keys' `tool_scope` name it.",
    example: "crm",
  }),
  host: line(MAX_HOST).nullable().openapi({
    description:
      "Of a server: a name or an address. One in a private network must be listed in EGRESS_ALLOW.",
  }),
  port: z
    .int()
    .min(1)
    .max(MAX_PORT)
    .nullable()
    .openapi({ description: "Of a server; unless given, the usual one of its kind." }),
  database: line(MAX_IDENTIFIER)
    .nullable()
    .openapi({ description: "Of a server; MySQL does without it." }),
  user: line(MAX_IDENTIFIER)
    .nullable()
    .openapi({ description: "Of a server: one that may only read is best." }),
  tls: z
    .enum(["off", "on", "verify"])
    .nullable()
    .openapi({
      description:
        "Of a server. `off`: without TLS; `on`: encrypted, any certificate; `verify` (default): the certificate and " +
        "the host in it are checked.",
    }),
  file: line(MAX_FILE).nullable().openapi({
    description: "Of SQLite: the name of a file connection, `/`, and the path of the file in it.",
    example: "workspace/shop.db",
  }),
  description: storableText(MAX_DESCRIPTION)
    .nullable()
    .openapi({ description: "For the model: what is in it." }),
};

const password = line(MAX_IDENTIFIER * 8)
  .nullable()
  .optional()
  .openapi({
    format: "password",
    description: "Stored encrypted and never shown. Not sent: it stays; null: it is removed.",
  });

const optional = z.object(changeable).partial().shape;

export const newConnection = z
  .strictObject({ ...optional, name: changeable.name, kind, password })
  .openapi("NewConnection", {
    example: {
      name: "crm",
      kind: "postgres",
      host: "db.example.com",
      database: "crm",
      user: "reader",
      password: "a password of the database",
      description: "Customers, their contracts and calls.",
    },
  });

export const connectionChange = z
  .strictObject({ ...optional, password })
  .openapi("ConnectionChange", { example: { description: "Customers and contracts." } });

export const connection = z
  .object({
    id: z.string(),
    object: z.literal("connection"),
    name: changeable.name,
    kind,
    host: changeable.host,
    port: changeable.port,
    database: changeable.database,
    user: changeable.user,
    tls: changeable.tls,
    file: changeable.file,
    description: changeable.description,
    has_password: z.boolean(),
    password_lost: z.boolean().openapi({
      description: "The password cannot be opened, because APP_SECRET has changed. Send it again.",
    }),
    last_test: z
      .object({
        ok: z.boolean(),
        at: time,
        latency_ms: count.nullable(),
        error: z.string().nullable(),
      })
      .nullable()
      .openapi({
        description:
          "The last test of it as it is now, by the replica that answers; null: not tested since that has started.",
      }),
    created_at: time,
  })
  .openapi("Connection", {
    example: {
      id: "conn_3v9QmTq2LxZ8cR5nYb7KdW",
      object: "connection",
      name: "crm",
      kind: "postgres",
      host: "db.example.com",
      port: 5432,
      database: "crm",
      user: "reader",
      tls: "verify",
      file: null,
      description: "Customers, their contracts and calls.",
      has_password: true,
      password_lost: false,
      last_test: { ok: true, at: "2026-09-21T13:40:00.000Z", latency_ms: 12, error: null },
      created_at: "2026-09-21T13:33:20.000Z",
    },
  });

export const trial = z
  .object({
    ok: z.boolean(),
    latency_ms: count.nullable().openapi({
      description: "Milliseconds for connecting, logging in and the first query.",
    }),
    server_version: z.string().nullable(),
    tables: count.nullable().openapi({ description: "Tables and views that the user may read." }),
    error: z.string().nullable().openapi({ description: "What is wrong; null when it is ok." }),
  })
  .openapi("ConnectionTrial", {
    example: { ok: true, latency_ms: 12, server_version: "17.2", tables: 42, error: null },
  });

export const tableList = z
  .object({
    object: z.literal("list"),
    data: z.array(
      z.object({
        name: z
          .string()
          .openapi({ description: "With its schema where that is not the usual one." }),
        columns: z.array(z.object({ name: z.string(), type: z.string() })),
      }),
    ),
  })
  .openapi("ConnectionTables", {
    example: {
      object: "list",
      data: [{ name: "customers", columns: [{ name: "id", type: "integer" }] }],
    },
  });

export const connectionList = countedList(connection).openapi("ConnectionList");
export const connectionQuery = page({}, byOffset);
