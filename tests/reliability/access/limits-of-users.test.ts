import { Redis } from "ioredis";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { chatBody } from "../../support/clients/call-gateway.ts";
import { expectChatError } from "../../support/clients/expect-chat-error.ts";
import { callHttp, logIn } from "../../support/clients/http-session.ts";
import type { RawResponse } from "../../support/clients/raw-client.ts";
import { makeKeptPlace } from "../../support/servers/databases/kept-place.ts";
import { startGateway, type TestGateway } from "../../support/servers/start-gateway.ts";
import { callWithKey, startReplicas } from "../../support/servers/start-replicas.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const MODEL = "sim-chat";
const MONTH = 10_000;
/** The prompt as the simulator counts it, and one token of the answer. */
const NEEDED = 14;
const ADMIN_PASSWORD = "the administrator of this test";
const SOON = { timeout: 30_000 };
const BUSY = { timeout: 400_000 };

interface PersonKey {
  readonly id: string;
  readonly key: string;
}

/** A user with three keys and a session. */
interface Person {
  readonly id: string;
  readonly keys: readonly [PersonKey, PersonKey, PersonKey];
  readonly session: string;
  /** The secrets of all of them. */
  readonly credentials: readonly string[];
}

let people = 0;

const adminSession = (url: string) => logIn(url, "admin", ADMIN_PASSWORD);

async function createPerson({ url }: TestGateway, limits: object): Promise<Person> {
  people += 1;
  const username = `person${people}`;
  const token = await adminSession(url);
  const admin = (path: string, body: unknown) =>
    callHttp(url, { method: "POST", path, token, body });
  const password = "a first password";
  const { body: user, status } = await admin("/api/admin/users", { username, password, ...limits });
  expect(status).toBe(201);
  const first = await logIn(url, username, password);
  const changed = await callHttp(url, {
    method: "POST",
    path: "/api/auth/password",
    token: first,
    body: { current_password: password, new_password: "a second password" },
  });
  const session: string = changed.body.token;
  const issue = async (name: string): Promise<PersonKey> =>
    (await admin("/v1/api-keys", { name, owner_id: user.id })).body;
  const keys = [await issue("one"), await issue("two"), await issue("three")] as const;
  return { id: user.id, keys, session, credentials: [...keys.map(({ key }) => key), session] };
}

const ask = (gateway: TestGateway, credential: string, maxTokens = 1_000) =>
  callWithKey(gateway, credential, { body: chatBody(MODEL, { max_tokens: maxTokens }) });

function tokensOf(response: RawResponse): number {
  const body = response.json() as { usage?: { total_tokens: number } };
  return body.usage?.total_tokens ?? 0;
}

async function sessionTokens(databaseUrl: string, userId: string): Promise<number> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => undefined });
  const [row] = await sql`
    select coalesce(sum(tokens), 0)::int as tokens from session_months where user_id = ${userId}`;
  await sql.end();
  return Number(row?.["tokens"]);
}

function expectOfUser(response: RawResponse, code: string): void {
  expectChatError(response, 429, code);
  expect(Number(response.header("retry-after"))).toBeGreaterThanOrEqual(1);
  expect(response.text).toContain("our user account");
}

const replicas = await startReplicas({
  count: 2,
  environment: { ADMIN_PASSWORD, TRUST_PROXY: "1" },
});

describe.runIf(replicas !== undefined)("A user's limits over two replicas and one Redis", () => {
  const { gateways, redis, databaseUrl, finish } = replicas as NonNullable<typeof replicas>;
  const [first] = gateways as readonly [TestGateway, ...TestGateway[]];
  let sql: postgres.Sql;
  beforeAll(() => {
    sql = postgres(databaseUrl, { max: 2, onnotice: () => undefined });
  });
  afterAll(async () => {
    await sql.end();
    await finish();
  });

  const everywhere = async ({ credentials }: Person) => {
    for (const gateway of gateways) {
      for (const credential of credentials) {
        const known = () => callWithKey(gateway, credential, { method: "GET", path: "/v1/models" });
        await expect.poll(async () => (await known()).status, SOON).toBe(200);
      }
    }
  };
  const storedTokens = async ({ id }: Person) => {
    const [row] = await sql`
      select
        coalesce((select sum(input_tokens + output_tokens) from usage_records
          where key_id in (select id from api_keys where owner_id = ${id})), 0)::int as keys,
        coalesce((select sum(tokens) from session_months where user_id = ${id}), 0)::int as sessions`;
    return { keys: Number(row?.["keys"]), sessions: Number(row?.["sessions"]) };
  };

  // While the machine is busy, many more calls are needed until none fits.
  it(
    "bound 50 calls at once of three keys and a session, and every call after them",
    BUSY,
    async () => {
      const person = await createPerson(first, { monthly_token_limit: MONTH });
      await everywhere(person);
      const used = { keys: 0, sessions: 0 };
      const callAll = async (count: number): Promise<readonly RawResponse[]> => {
        const responses = await Promise.all(
          Array.from({ length: count }, async (_, index) => {
            const credential = person.credentials[index % 4] ?? "";
            const gateway = gateways[Math.floor(index / 4) % 2] ?? first;
            const response = await ask(gateway, credential);
            if (response.status === 200) {
              used[credential === person.session ? "sessions" : "keys"] += tokensOf(response);
            }
            return response;
          }),
        );
        for (const refused of responses.filter(({ status }) => status !== 200)) {
          if (refused.status === 503) expectChatError(refused, 503, "storage_unavailable");
          else expectOfUser(refused, "monthly_limit_exceeded");
        }
        return responses;
      };
      const burst = await callAll(50);
      expect(burst.some(({ status }) => status === 200)).toBe(true);
      expect(burst.some(({ status }) => status === 429)).toBe(true);
      expect(used.keys + used.sessions).toBeLessThanOrEqual(MONTH);
      // A busy engine may not count a prompt in time: its bound is refused while a counted one would still fit.
      const fits = () => used.keys + used.sessions + NEEDED <= MONTH;
      for (let round = 0; round < 300 && fits(); round += 1) await callAll(12);
      const last = await ask(first, person.session);
      expectOfUser(last, "monthly_limit_exceeded");
      expect(last.header("x-should-retry")).toBe("false");
      expect(used.sessions).toBeGreaterThan(0);
      expect(used.keys + used.sessions).toBeGreaterThan(MONTH * 0.9);
      expect(used.keys + used.sessions).toBeLessThanOrEqual(MONTH);
      await expect.poll(() => storedTokens(person), SOON).toEqual(used);

      // Redis forgets everything: the sums of the database are the user's.
      const client = new Redis(redis.url);
      await client.flushall();
      client.disconnect();
      for (const gateway of gateways) {
        for (const credential of person.credentials) {
          expectOfUser(await ask(gateway, credential), "monthly_limit_exceeded");
        }
      }
      expect(await storedTokens(person)).toEqual(used);
    },
  );

  it("admit so many calls a minute of all keys and sessions, whichever replica they reach", async () => {
    const person = await createPerson(first, { rpm_limit: 10 });
    await everywhere(person);
    const responses = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        ask(gateways[index % 2] ?? first, person.credentials[index % 4] ?? "", 16),
      ),
    );
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(10);
    for (const refused of responses.filter(({ status }) => status !== 200)) {
      expectOfUser(refused, "rate_limit_exceeded");
    }
  });
});

describe("A user's limits on a single gateway", () => {
  let place: Awaited<ReturnType<typeof makeKeptPlace>>;
  let simulator: TestSimulator;
  let gateway: TestGateway;
  const start = () =>
    startGateway({
      ...place.settings,
      ADMIN_PASSWORD,
      TRUST_PROXY: "1",
      LLM_BACKEND: "vllm",
      LLM_BASE_URL: simulator.url,
    });
  beforeAll(async () => {
    simulator = await startSimulator();
    place = await makeKeptPlace();
    gateway = await start();
  });
  afterAll(async () => {
    await gateway?.stop();
    await simulator.stop();
    await place?.remove();
  });

  const stop = async () => {
    await gateway.stop();
  };
  const kill = async ({ id }: Person, ofSession: number) => {
    const { DATABASE_URL: databaseUrl } = place.settings;
    // The figure of sessions is written right after an answer, which only a server's database shows from outside.
    if (databaseUrl === undefined) return stop();
    await expect.poll(() => sessionTokens(databaseUrl, id), SOON).toBe(ofSession);
    gateway.kill("SIGKILL");
    await gateway.exited;
  };

  const expectLeft = async (credentials: readonly string[], left: number) => {
    for (const credential of credentials) {
      const refused = await ask(gateway, credential, 1);
      expectOfUser(refused, "monthly_limit_exceeded");
      expect(refused.text).toContain(left === 0 ? "has used up its limit" : `has ${left} left of`);
    }
  };

  it("include after a crash what keys, deleted keys and sessions used before", async () => {
    const person = await createPerson(gateway, { monthly_token_limit: MONTH });
    const [one, two, three] = person.keys;
    let used = 0;
    let ofSession = 0;
    for (const credential of person.credentials) {
      const answer = await ask(gateway, credential, 16);
      used += tokensOf(answer);
      if (credential === person.session) ofSession += tokensOf(answer);
      expect(answer.header("x-ratelimit-limit-tokens")).toBe(String(MONTH));
    }
    const deleted = await callHttp(gateway.url, {
      method: "DELETE",
      path: `/v1/api-keys/${one.id}`,
      token: person.session,
    });
    expect(deleted.status).toBe(200);
    for (const end of [stop, kill]) {
      await end(person, ofSession);
      gateway = await start();
      const answer = await ask(gateway, person.session, 16);
      expect(answer.status).toBe(200);
      used += tokensOf(answer);
      ofSession += tokensOf(answer);
      // 16 tokens and the bound of the prompt are reserved in the answer's headers.
      const remaining = Number(answer.header("x-ratelimit-remaining-tokens"));
      expect(remaining).toBeLessThan(MONTH - used);
      const next = await ask(gateway, two.key, 16);
      used += tokensOf(next);
    }
    const admin = await adminSession(gateway.url);
    const path = `/api/admin/users/${person.id}`;
    for (const left of [1, 0]) {
      const body = { monthly_token_limit: used + left };
      const set = await callHttp(gateway.url, { method: "PATCH", path, token: admin, body });
      expect(set.body).toMatchObject(body);
      // To the token: no call was lost, and none was counted twice.
      await expectLeft([three.key, person.session], left);
    }
  });

  it("are shown to the user, and changed by administrators only", async () => {
    const person = await createPerson(gateway, { monthly_token_limit: 0, rpm_limit: 7 });
    const { url } = gateway;
    const me = await callHttp(url, { path: "/api/auth/me", token: person.session });
    expect(me.body).toMatchObject({ monthly_token_limit: 0, rpm_limit: 7 });
    const path = `/api/admin/users/${person.id}`;
    const change = { method: "PATCH", path, body: { monthly_token_limit: null } };
    for (const token of person.credentials) {
      expect((await callHttp(url, { ...change, token })).status).toBe(403);
    }
    for (const credential of person.credentials) {
      expectOfUser(await ask(gateway, credential, 1), "monthly_limit_exceeded");
    }
    const admin = await adminSession(url);
    const wrong = { ...change, body: { rpm_limit: -1 }, token: admin };
    expect((await callHttp(url, wrong)).status).toBe(400);
    expect((await callHttp(url, { ...change, token: admin })).body).toMatchObject({
      monthly_token_limit: null,
      rpm_limit: 7,
    });
    for (let count = 0; count < 7; count += 1) {
      expect((await ask(gateway, person.credentials[count % 4] ?? "", 1)).status).toBe(200);
    }
    for (const credential of person.credentials) {
      expectOfUser(await ask(gateway, credential, 1), "rate_limit_exceeded");
    }
  });
});
