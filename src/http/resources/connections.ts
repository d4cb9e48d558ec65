import { z } from "@hono/zod-openapi";
import type { Deps } from "../../deps.ts";
import {
  createConnection,
  deleteConnection,
  findConnection,
  listConnections,
  trialTarget,
  updateConnection,
} from "../../tools/connections/change-connection.ts";
import { CONNECTION_KINDS } from "../../tools/connections/connection.ts";
import { type ConnectionRow, openPassword } from "../../tools/connections/known-connections.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { toJson, toRecord } from "../answers/to-json.ts";
import { readCheckedBody } from "../bodies/read-checked-body.ts";
import { count, storableText, time } from "../fields.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { byOffset, countedList, page, readQuery } from "../page.ts";
import { actorOf } from "../request/actor-of.ts";
import { idOf } from "../request/id-of.ts";
import { createRouter, type Router } from "../request/router.ts";

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

const newConnection = z
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

const connectionChange = z
  .strictObject({ ...optional, password })
  .openapi("ConnectionChange", { example: { description: "Customers and contracts." } });

const connection = z
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
      created_at: "2026-09-21T13:33:20.000Z",
    },
  });

const trial = z
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

const connectionList = countedList(connection).openapi("ConnectionList");
const connectionQuery = page({}, byOffset);

const COLLECTION = {
  path: "/api/connections",
  access: "administrator",
  tokens: "connections",
  tag: "Saved connections",
} as const;
const ONE = { ...COLLECTION, path: `${COLLECTION.path}/{id}` } as const;
const unknown = { 404: "There is no saved connection with this id." };

const LIST = resourceRoute({
  ...COLLECTION,
  method: "get",
  operationId: "listConnections",
  summary: "List the saved connections",
  description: "By name.",
  query: connectionQuery,
  answer: { description: "A page of the saved connections.", schema: connectionList },
});
const CREATE = resourceRoute({
  ...COLLECTION,
  method: "post",
  operationId: "createConnection",
  summary: "Save a connection to a database",
  description:
    "Tools of assistants that name it can read it. It is not connected to; try it with the test.",
  body: newConnection,
  answer: { status: 201, description: "The connection.", schema: connection },
});
const TRY = resourceRoute({
  ...COLLECTION,
  path: `${COLLECTION.path}/test`,
  method: "post",
  operationId: "tryConnection",
  summary: "Try a connection before it is saved",
  body: newConnection,
  answer: { description: "Whether it works, or why not.", schema: trial },
});
const FIND = resourceRoute({
  ...ONE,
  method: "get",
  operationId: "getConnection",
  summary: "Show one saved connection",
  description: "Without its password.",
  answer: { description: "The connection.", schema: connection },
  errors: unknown,
});
const UPDATE = resourceRoute({
  ...ONE,
  method: "patch",
  operationId: "updateConnection",
  summary: "Change a saved connection",
  description:
    "Fields that are not sent stay as they are. With another host, port or user, or less TLS, the password has to be " +
    "sent again.",
  body: connectionChange,
  answer: { description: "The connection as it is now.", schema: connection },
  errors: unknown,
});
const DELETE = resourceRoute({
  ...ONE,
  method: "delete",
  operationId: "deleteConnection",
  summary: "Delete a saved connection",
  description: "Assistants and keys that name it keep the name.",
  answer: { status: 204, description: "The connection is gone." },
  errors: unknown,
});
const TEST = resourceRoute({
  ...ONE,
  path: `${ONE.path}/test`,
  method: "post",
  operationId: "testConnection",
  summary: "Test a saved connection",
  description: "Connects anew, logs in and counts the tables.",
  answer: { description: "Whether it works, or why not.", schema: trial },
  errors: unknown,
});

/** `/api/connections`: the databases that tools may read, for administrators. */
export function connectionsRoutes(deps: Deps): Router {
  const { desk, tryTarget, testSaved } = deps.connections;
  const shown = (row: ConnectionRow) => ({
    ...row,
    hasPassword: row.sealedPassword !== null,
    passwordLost: openPassword(desk.secretBox, row) === undefined,
  });
  const router = createRouter(deps);
  router.add(LIST, async (context) => {
    const { rows, total } = await listConnections(desk, readQuery(context, connectionQuery));
    return jsonResponse(toJson(connectionList, { data: rows.map(shown), total }));
  });
  router.add(CREATE, async (context, caller) => {
    const given = toRecord(await readCheckedBody(context, newConnection));
    const row = await createConnection(desk, actorOf(context, caller), given);
    return jsonResponse(toJson(connection, shown(row)), 201);
  });
  router.add(TRY, async (context) => {
    const given = toRecord(await readCheckedBody(context, newConnection));
    return jsonResponse(
      toJson(trial, await tryTarget(trialTarget(desk, given), context.req.raw.signal)),
    );
  });
  router.add(FIND, async (context) =>
    jsonResponse(toJson(connection, shown(await findConnection(desk, idOf(context))))),
  );
  router.add(UPDATE, async (context, caller) => {
    const given = toRecord(await readCheckedBody(context, connectionChange));
    const change = { id: idOf(context), given };
    const row = await updateConnection(desk, actorOf(context, caller), change);
    return jsonResponse(toJson(connection, shown(row)));
  });
  router.add(DELETE, async (context, caller) => {
    await deleteConnection(desk, actorOf(context, caller), idOf(context));
    return new Response(null, { status: 204 });
  });
  router.add(TEST, async (context) => {
    const row = await findConnection(desk, idOf(context));
    return jsonResponse(toJson(trial, await testSaved(row, context.req.raw.signal)));
  });
  return router;
}
