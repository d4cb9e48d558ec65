import type { Deps } from "../../deps.ts";
import {
  createConnection,
  deleteConnection,
  findConnection,
  listConnections,
  trialTarget,
  updateConnection,
} from "../../tools/connections/change-connection.ts";
import {
  type ConnectionRow,
  openPassword,
  toConnection,
} from "../../tools/connections/known-connections.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { toJson, toRecord } from "../answers/to-json.ts";
import { readCheckedBody } from "../bodies/read-checked-body.ts";
import {
  connection,
  connectionChange,
  connectionList,
  connectionQuery,
  newConnection,
  tableList,
  trial,
} from "../connection-fields.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { readQuery } from "../page.ts";
import { actorOf } from "../request/actor-of.ts";
import { idOf } from "../request/id-of.ts";
import { createRouter, type Router } from "../request/routes/router.ts";

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

const TABLES = resourceRoute({
  ...ONE,
  path: `${ONE.path}/tables`,
  method: "get",
  operationId: "listConnectionTables",
  summary: "List the tables of a saved connection",
  description: "Tables and views that its user may read: up to 500, with up to 100 columns each.",
  answer: { description: "The tables by name, with their columns.", schema: tableList },
  errors: { ...unknown, 502: "The database refuses, or cannot be reached." },
});

interface LastTest {
  readonly ok: boolean;
  readonly at: Date;
  readonly latencyMs: number | null;
  readonly error: string | null;
}

/** `/api/connections`: the databases that tools may read, for administrators. */
export function connectionsRoutes(deps: Deps): Router {
  const { desk, saved, tryTarget, testSaved } = deps.connections;
  // By id; no more than there are saved connections, which are at most 200.
  const tests = new Map<string, LastTest>();
  const shown = (row: ConnectionRow) => ({
    ...row,
    hasPassword: row.sealedPassword !== null,
    passwordLost: openPassword(desk.secretBox, row) === undefined,
    lastTest: tests.get(row.id) ?? null,
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
    tests.delete(row.id);
    return jsonResponse(toJson(connection, shown(row)));
  });
  router.add(DELETE, async (context, caller) => {
    await deleteConnection(desk, actorOf(context, caller), idOf(context));
    tests.delete(idOf(context));
    return new Response(null, { status: 204 });
  });
  router.add(TEST, async (context) => {
    const row = await findConnection(desk, idOf(context));
    const tested = await testSaved(row, context.req.raw.signal);
    const { ok, latencyMs, error } = tested;
    tests.set(row.id, { ok, at: new Date(desk.clock.now()), latencyMs, error });
    return jsonResponse(toJson(trial, tested));
  });
  router.add(TABLES, async (context) => {
    const row = await findConnection(desk, idOf(context));
    const tables = await saved.describe(toConnection(row), context.req.raw.signal);
    const data = tables.map(({ name, columns }) => ({ name, columns: [...columns] }));
    return jsonResponse(toJson(tableList, { data }));
  });
  return router;
}
