import { expect, it } from "vitest";
import { requireOwnLogin } from "../../../../src/data/port/queries/own-login.ts";
import type { StatementReader } from "../../../../src/data/port/queries/read-statement.ts";
import type { ReadRequest } from "../../../../src/data/process/process-messages.ts";

const passed = { failure: { code: "00000", message: "passed" } };
const reader: StatementReader = { read: async () => passed, close: () => undefined };

function ask(via: ReadRequest["via"], user: string | null) {
  const limits = { views: [], rowLimit: 1, timeoutSeconds: 1, maxConnections: 1, expiresAt: null };
  const request: ReadRequest = {
    principal: { id: "bik_one", name: "one", ...limits },
    login: user === null ? null : { url: `postgres://${user}:word@127.0.0.1/gateway` },
    ...{ via, sql: "select 1", values: [], format: "json", spreadsheet: false },
    ...{ rows: null, paging: null, asOf: "2026-11-24T00:00:00Z" },
  };
  return requireOwnLogin(reader).read(request, new AbortController().signal);
}

it.each([
  ["query", "gw_01234567_bik_one"],
  ["query", null],
  ["list", "gateway"],
] as const)("takes a %s by the login %s", async (via, user) => {
  expect(await ask(via, user)).toBe(passed);
});

it.each(["gateway", "gw_01234567_bik_two"])("refuses a query by the login %s", async (user) => {
  expect(await ask("query", user)).toMatchObject({ failure: { code: "28000" } });
});
