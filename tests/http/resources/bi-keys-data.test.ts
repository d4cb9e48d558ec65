import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createAuthenticate } from "../../../src/access/authenticate.ts";
import {
  BI_KEY_LIMITS,
  type BiKeyFields,
  createBiKey,
  deleteBiKey,
  rotateBiKey,
  updateBiKey,
} from "../../../src/access/bi-keys/bi-keys.ts";
import { type KnownBiKeys, openBiKeys } from "../../../src/access/bi-keys/known/known-bi-keys.ts";
import {
  openServiceTokens,
  type ServiceTokens,
} from "../../../src/access/service-tokens/known-tokens.ts";
import { createServiceToken } from "../../../src/access/service-tokens/service-tokens.ts";
import { updateUser } from "../../../src/access/users/update-user.ts";
import type { DataCaller } from "../../../src/core/callers/caller.ts";
import { SERVICE_SCOPES } from "../../../src/core/callers/service-scope.ts";
import type { Deps } from "../../../src/deps.ts";
import { chatErrorForm } from "../../../src/http/answers/error-response.ts";
import { RequestLine } from "../../../src/http/request/request-line.ts";
import { createRouteTable } from "../../../src/http/request/routes/route-table.ts";
import { createRouter } from "../../../src/http/request/routes/router.ts";
import { biKeysRoutes } from "../../../src/http/resources/bi-keys.ts";
import { randomBase62 } from "../../../src/lib/id.ts";
import { createLog } from "../../../src/lib/log.ts";
import {
  ADMIN_PASSWORD,
  addUser,
  openUserAccess,
  type TestUserAccess,
} from "../../support/stages/access/user-access.ts";

const UNUSABLE = { status: 401, code: "invalid_api_key" };
const DATA = {
  method: "get",
  path: "/v1/data",
  access: "data",
  audience: "unlisted",
  responses: {},
} as const;

let here: TestUserAccess;
let biKeys: KnownBiKeys;
let tokens: ServiceTokens;
let port: number | undefined = 5434;
let hono: ReturnType<typeof createRouteTable>["hono"];
const lines: string[] = [];
const secrets = new Set<string>();
let lastCaller: DataCaller | undefined;

beforeAll(async () => {
  here = await openUserAccess();
  const { database, keys, sessions } = here;
  const log = createLog("silent");
  biKeys = await openBiKeys({ database, hashBiKey: here.access.hashBiKey, log });
  const { hashServiceToken } = here.access;
  tokens = await openServiceTokens({ database, hashServiceToken, log });
  const authenticate = createAuthenticate({ keys, sessions, tokens, biKeys });
  const catchUp = async () =>
    void (await Promise.all([keys.catchUp(), tokens.catchUp(), biKeys.catchUp()]));
  const deps = {
    authenticate,
    clock: here.access.clock,
    access: { ...here.access, keys: { catchUp } },
    settings: { BIKEY_PG_PROXY_ENABLED: true, BIKEY_PG_PROXY_PORT: 0 },
  } as unknown as Deps;
  const router = createRouter(deps);
  router.add(DATA, (_, caller) => {
    lastCaller = caller;
    return new Response(caller.kind);
  });
  hono = createRouteTable([
    ...router.routes,
    ...biKeysRoutes(deps, { portOf: () => port }).routes,
  ]).hono;
});
afterAll(async () => {
  await biKeys.close();
  await tokens.close();
  await here.close();
});

interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly address?: string;
  readonly body?: unknown;
}

async function call({
  method = "GET",
  path = "/v1/data",
  headers,
  address = "192.0.2.1",
  body,
}: Sent) {
  const log = createLog("debug", { write: (line) => void lines.push(line) });
  const request = { log, requestId: "req_1", method, path, client: address, isProbe: false };
  const line = new RequestLine(request, () => undefined);
  const response = await hono.fetch(
    new Request(`http://gateway.example.com:8080${path}`, {
      method,
      headers: { host: "gateway.example.com:8080", "content-type": "application/json", ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }),
    {
      ...{
        requestId: "req_1",
        arrivedAt: here.world.now,
        path,
        errorForm: chatErrorForm,
        log,
        line,
      },
      ...{ address: () => address, isHttps: () => true, allowSilence: () => () => undefined },
      trace: undefined,
    },
  );
  line.answered(response.status, false);
  const text = await response.text();
  const answer = text.startsWith("{") ? JSON.parse(text) : undefined;
  return { status: response.status, text, body: answer, code: answer?.error?.code };
}

const bearer = (text: string) => ({ authorization: `Bearer ${text}` });

async function issue(fields: Partial<BiKeyFields> = {}, actor = here.admin) {
  const defaults = { name: "a report", datasets: [], ipAllow: [], expiresAt: null };
  const issued = await createBiKey(here.access, actor, {
    ...defaults,
    ...BI_KEY_LIMITS,
    ...fields,
  });
  await biKeys.catchUp();
  secrets.add(issued.text);
  return issued;
}

describe("5 who reads data over HTTP", () => {
  it("is a BI key, in either header, and the log names it", async () => {
    const { key, text } = await issue();
    for (const headers of [
      bearer(text),
      { "x-api-key": text },
      { authorization: `bEARER ${text}` },
    ]) {
      expect(await call({ headers })).toMatchObject({ status: 200, text: "bi_key" });
      expect(lastCaller).toEqual({
        ...{ kind: "bi_key", keyId: key.id, keyName: "a report", ownerId: key.ownerId },
      });
      expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({ bi_key_id: key.id, status: 200 });
    }
  });

  it("is a session, by header and not by the console's cookie", async () => {
    const { token } = await here.logIn("admin", ADMIN_PASSWORD);
    secrets.add(token);
    expect(await call({ headers: bearer(token) })).toMatchObject({ status: 200, text: "session" });
    const cookie = { cookie: `gateway_session=${token}` };
    expect(await call({ headers: cookie })).toMatchObject(UNUSABLE);
  });

  it("is no API key, which is told what to send", async () => {
    const text = await here.createKey(here.admin.caller.ownerId);
    for (const headers of [bearer(text), { "x-api-key": text }]) {
      const refused = await call({ headers });
      expect(refused).toMatchObject({ status: 403, code: "insufficient_permission" });
      expect(refused.text).toContain("Send a BI key");
    }
    expect(await call({ headers: bearer(`sk-${randomBase62(43)}`) })).toMatchObject(UNUSABLE);
  });

  it("is no service token, whatever its scopes", async () => {
    const fields = { name: "t", scopes: SERVICE_SCOPES, ipAllow: [], expiresAt: null };
    const { text } = await createServiceToken(here.access, here.admin, fields);
    await tokens.catchUp();
    expect(await call({ headers: bearer(text) })).toMatchObject({
      ...{ status: 403, code: "insufficient_permission" },
    });
  });

  it("is nobody without a credential, or with a malformed one", async () => {
    for (const headers of [{}, { authorization: "Bearer " }, bearer(`ses_${"a".repeat(10_000)}`)]) {
      expect(await call({ headers })).toMatchObject(UNUSABLE);
    }
    const texts = new Set<string>();
    for (const text of ["bk-x", `bk-${"0".repeat(43)}`, `bk-${"0".repeat(10_000)}`, "bk-';--"]) {
      for (const headers of [bearer(text), { "x-api-key": text }]) {
        const refused = await call({ headers });
        expect(refused).toMatchObject(UNUSABLE);
        texts.add(refused.text);
      }
    }
    expect(texts.size).toBe(1);
  });

  it("is no key that is inactive, expired, rotated, deleted or of a former administrator, by one text", async () => {
    const texts = new Set<string>();
    const expectUnusable = async (text: string) => {
      const refused = await call({ headers: bearer(text) });
      expect(refused).toMatchObject(UNUSABLE);
      texts.add(refused.text);
    };
    const { access, admin } = here;
    const inactive = await issue();
    await updateBiKey(access, admin, { id: inactive.key.id, fields: { state: "inactive" } });
    const rotated = await issue();
    const { text: next } = await rotateBiKey(access, admin, rotated.key.id);
    const deleted = await issue();
    await deleteBiKey(access, admin, deleted.key.id);
    const expiring = await issue({ expiresAt: new Date(here.world.now + 1_000) });
    expect((await call({ headers: bearer(expiring.text) })).status).toBe(200);
    const password = "a password of the owner";
    const id = await addUser(here, "owner", password, "admin");
    const theirs = await issue({}, await here.actorFor("owner", password));
    await biKeys.catchUp();
    for (const { text } of [inactive, rotated, deleted]) await expectUnusable(text);
    expect((await call({ headers: bearer(next) })).status).toBe(200);
    here.world.now += 1_000;
    await expectUnusable(expiring.text);
    for (const change of [{ role: "user" }, { role: "admin", state: "disabled" }] as const) {
      await updateUser(access, admin, id, change);
      await biKeys.catchUp();
      await expectUnusable(theirs.text);
    }
    expect(texts.size).toBe(1);
  });

  it("comes from an address of the key", async () => {
    const { text } = await issue({ ipAllow: ["198.51.100.0/24"] });
    const headers = bearer(text);
    expect((await call({ headers, address: "198.51.100.9" })).status).toBe(200);
    expect(await call({ headers })).toMatchObject({ status: 403, code: "ip_denied" });
  });

  it("leaves the time of its use with the key", async () => {
    const { key, text } = await issue();
    await call({ headers: bearer(text) });
    const { database } = here;
    const { hashBiKey } = here.access;
    await biKeys.close();
    biKeys = await openBiKeys({ database, hashBiKey, log: createLog("silent") });
    const { token } = await here.logIn("admin", ADMIN_PASSWORD);
    secrets.add(token);
    const shown = await call({ path: `/v1/bi-keys/${key.id}`, headers: bearer(token) });
    expect(shown.body.last_used_at).toBe(new Date(here.world.now).toISOString());
  });
});

describe("the connection texts of a server with the PostgreSQL port", () => {
  const create = async () => {
    const { token } = await here.logIn("admin", ADMIN_PASSWORD);
    secrets.add(token);
    const body = { name: "Finance, Q3" };
    const sent = { method: "POST", path: "/v1/bi-keys", headers: bearer(token), body };
    const { status, body: answer } = await call(sent);
    expect(status).toBe(201);
    secrets.add(answer.key);
    return answer;
  };

  it("have the name that the client called, and the port that is open", async () => {
    port = 40_123;
    const { key, connections } = await create();
    expect(connections).toMatchObject({
      psql: `psql "postgresql://finance_q3:${key}@gateway.example.com:40123/data?sslmode=require"`,
      http: `curl -H "Authorization: Bearer ${key}" "https://gateway.example.com:8080/v1/data"`,
      fields: { host: "gateway.example.com", port: 40_123, user: "finance_q3" },
      reason: null,
    });
  });

  it("say so while the port is not open", async () => {
    port = undefined;
    const { connections } = await create();
    expect(connections).toMatchObject({
      ...{ psql: null, fields: null, reason: expect.stringContaining("not open now") },
    });
  });

  it("are in no line of the log", () => {
    for (const secret of secrets) expect(lines.join("")).not.toContain(secret);
  });
});
