import { afterAll, beforeAll, describe, expect } from "vitest";
import { createCaseTable } from "../../support/case-table.ts";
import {
  callHttp,
  type HttpAnswer,
  type HttpCall,
  logIn,
} from "../../support/clients/http-session.ts";
import { uploadText } from "../../support/clients/license-upload.ts";
import { makeKeptPlace } from "../../support/servers/databases/kept-place.ts";
import { startGateway, TEST_KEY, type TestGateway } from "../../support/servers/start-gateway.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";
import { licenseText, makeLicenseKeys, vendor } from "../../support/stages/access/test-license.ts";

const ADMIN_PASSWORD = "password of the administrator 4d";
const USER_PASSWORD = "password of the user 77";
const CHAT = "first";
const EMBEDDINGS = "vectors";

const table = createCaseTable();
table.leavesOut("K06", "mcp tools/call", "shown by tests/http/families/mcp-calls.test.ts");
table.leavesOut("L04", "mcp, workflow starts", "not in this suite");

/** Every metered route that takes JSON, and one that is not metered. */
const QUESTION = [{ role: "user", content: "Tell me something." }];
const CALLS: Readonly<Record<string, HttpCall>> = {
  chat: call("/v1/chat/completions", { model: CHAT, messages: QUESTION }),
  messages: call("/v1/messages", { model: CHAT, max_tokens: 50, messages: QUESTION }),
  responses: call("/v1/responses", { model: CHAT, input: "Tell me something." }),
  embeddings: call("/v1/embeddings", { model: EMBEDDINGS, input: "something" }),
  models: { path: "/v1/models" },
};

function call(path: string, body: object): HttpCall {
  return { method: "POST", path, body };
}

let simulator: TestSimulator;
let gateway: TestGateway;
let admin: string;

beforeAll(async () => {
  simulator = await startSimulator({
    models: [
      { name: CHAT, contextLength: 8_192, capabilities: ["completion"] },
      { name: EMBEDDINGS, contextLength: 8_192, capabilities: ["embedding"] },
    ],
  });
  gateway = await startGateway({
    LLM_BACKEND: "vllm",
    LLM_BASE_URL: simulator.url,
    ADMIN_PASSWORD,
    EMBEDDING_MODEL: EMBEDDINGS,
    LICENSE_PUBLIC_KEY: vendor.publicKey,
    TRUST_PROXY: "1",
  });
  admin = await logIn(gateway.url, "admin", ADMIN_PASSWORD);
});
afterAll(async () => {
  await gateway.stop();
  await simulator.stop();
});

const ask = (request: HttpCall) => callHttp(gateway.url, request);

async function askOk(request: HttpCall): Promise<HttpAnswer["body"]> {
  const { status, text, body } = await ask(request);
  if (status >= 300) throw new Error(`${request.path}: ${status} ${text}`);
  return body;
}

const issue = (token: string, fields: object = {}) =>
  askOk({ method: "POST", path: "/v1/api-keys", token, body: { name: "a key", ...fields } });

let users = 0;

/** A user with a password of the own. */
async function createUser() {
  users += 1;
  const username = `user${users}`;
  const { id, password } = await askOk({
    method: "POST",
    path: "/api/admin/users",
    token: admin,
    body: { username },
  });
  const first = await logIn(gateway.url, username, password);
  const { token } = await askOk({
    method: "POST",
    path: "/api/auth/password",
    token: first,
    body: { current_password: password, new_password: USER_PASSWORD },
  });
  return { id, username, token } as { id: string; username: string; token: string };
}

/** Each family's route refuses alike, in its own form. */
async function expectEverywhere(
  credential: Partial<HttpCall>,
  status: number,
  code: string,
): Promise<void> {
  for (const [name, request] of Object.entries(CALLS)) {
    const answer = await ask({ ...request, ...credential });
    expect({ name, status: answer.status, text: answer.text }).toMatchObject({ name, status });
    expect(answer.headers.get("www-authenticate")).toBe(status === 401 ? "Bearer" : null);
    if (name !== "messages") expect(answer.body.error).toMatchObject({ code });
    else {
      const type = { 401: "authentication_error", 403: "permission_error" }[status];
      expect(answer.body).toMatchObject({ type: "error", error: { type } });
    }
  }
}

async function expectWorks(token: string): Promise<void> {
  for (const [name, request] of Object.entries(CALLS)) {
    const { status, text } = await ask({ ...request, token });
    expect({ name, status, text }).toMatchObject({ name, status: 200 });
  }
}

/** Checks that a bound key was answered as its assistant, or told why not before any engine was asked. */
function expectBound(route: string, { status, text, body }: HttpAnswer, asked: number): void {
  if (status === 200) {
    expect(route === "count_tokens" || text.includes('"model":"My Ässistant"')).toBe(true);
    return;
  }
  expect(asked).toBe(0);
  if (route !== "messages" && route !== "count_tokens") {
    const code = status === 404 ? "model_not_found" : "assistant_not_allowed";
    expect([route, body.error.code]).toEqual([route, code]);
  }
}

describe("keys and users", () => {
  for (const way of ["deleted", "set inactive"]) {
    const sentence = "refuses the next call of a revoked key, and its open stream may finish";
    table.shows("K01", `every route, one replica: ${way}`, sentence, async () => {
      const { id, key } = await issue(admin);
      await expectWorks(key);
      const stream = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ model: CHAT, messages: QUESTION, stream: true }),
      });
      const path = `/v1/api-keys/${id}`;
      await askOk(
        way === "deleted"
          ? { method: "DELETE", path, token: admin }
          : { method: "PATCH", path, token: admin, body: { state: "inactive" } },
      );
      await expectEverywhere({ token: key }, 401, "invalid_api_key");
      expect(await stream.text()).toMatch(/data: \[DONE\]\s*$/);
    });
  }

  const dead = "leaves a bootstrap key dead whose secret is left in the settings, and warns";
  table.shows("K01", "restart: BOOTSTRAP_API_KEY deleted", dead, async () => {
    const place = await makeKeptPlace();
    const settings = { ...place.settings, LLM_BASE_URL: simulator.url, ADMIN_PASSWORD };
    const statusOf = async ({ url }: TestGateway) =>
      (await callHttp(url, { path: "/v1/models", token: TEST_KEY })).status;
    const first = await startGateway(settings);
    try {
      expect(await statusOf(first)).toBe(200);
      const token = await logIn(first.url, "admin", ADMIN_PASSWORD);
      const { body } = await callHttp(first.url, { path: "/v1/api-keys", token });
      const path = `/v1/api-keys/${body.data[0].id}`;
      expect((await callHttp(first.url, { method: "DELETE", path, token })).status).toBe(200);
    } finally {
      await first.stop();
    }
    const second = await startGateway(settings);
    try {
      expect(await statusOf(second)).toBe(401);
      await expect
        .poll(() => second.output(), { timeout: 60_000 })
        .toContain("BOOTSTRAP_API_KEY is ignored");
    } finally {
      await second.stop();
      await place.remove();
    }
  });

  for (const way of ["disabled", "deleted"]) {
    const sentence = "ends the sessions and keys of a user at once";
    table.shows("K02", `every route: user ${way}`, sentence, async () => {
      const user = await createUser();
      const { key } = await issue(user.token);
      await expectWorks(key);
      await expectWorks(user.token);
      const path = `/api/admin/users/${user.id}`;
      await askOk(
        way === "deleted"
          ? { method: "DELETE", path, token: admin }
          : { method: "PATCH", path, token: admin, body: { state: "disabled" } },
      );
      await expectEverywhere({ token: key }, 401, "invalid_api_key");
      await expectEverywhere({ token: user.token }, 401, "session_expired");
      const body = { username: user.username, password: USER_PASSWORD };
      expect((await ask({ method: "POST", path: "/api/auth/login", body })).status).toBe(401);
    });
  }

  const changed = "ends the old sessions, and leaves the keys";
  table.shows("K02", "every route: password changed", changed, async () => {
    const user = await createUser();
    const { key } = await issue(user.token);
    const other = await logIn(gateway.url, user.username, USER_PASSWORD);
    const { token } = await askOk({
      method: "POST",
      path: "/api/auth/password",
      token: user.token,
      body: { current_password: USER_PASSWORD, new_password: `${USER_PASSWORD} again` },
    });
    await expectEverywhere({ token: user.token }, 401, "session_expired");
    await expectEverywhere({ token: other }, 401, "session_expired");
    await expectWorks(token);
    await expectWorks(key);
  });

  const hostile = "answers 401, and no line of the log is an error or has the credential";
  table.shows("K08", "every route: hostile credentials", hostile, async () => {
    const marked = "canary5f0a";
    const credentials = [
      `Bearer sk-${marked}'OR'1'='1'--${"x".repeat(20)}`,
      `Bearer sk-${marked}${"a".repeat(10_000)}`,
      `Bearer Bearer sk-${marked}${"a".repeat(40)}`,
      `bearer sk-${marked}${"b".repeat(40)}`,
      `Bearer sk-${marked}%00${"c".repeat(40)}`,
      `Bearer bk-${marked}${"d".repeat(40)}`,
      `Bearer ses_${marked}${"e".repeat(33)}`,
    ];
    for (const authorization of credentials) {
      for (const request of Object.values(CALLS)) {
        const { status } = await ask({ ...request, headers: { authorization } });
        expect([authorization.slice(0, 40), status]).toEqual([authorization.slice(0, 40), 401]);
      }
    }
    const inQuery = await ask({ path: `/v1/models?key=${TEST_KEY}&api_key=${TEST_KEY}` });
    expect(inQuery.status).toBe(401);
    expect(gateway.output()).not.toContain(marked);
    expect(gateway.output()).not.toMatch(/"level":"(error|fatal)"/);
  });

  const both = "lets Bearer win, and holds what binds a key whichever header carries it";
  table.shows("K09", "every route: both headers", both, async () => {
    const bound = await issue(admin, { ip_allow: ["192.0.2.0/24"] });
    const zero = await issue(admin, { request_limit: 0 });
    await expectEverywhere({ headers: { "x-api-key": bound.key } }, 403, "ip_denied");
    await expectEverywhere({ token: bound.key }, 403, "ip_denied");
    const withBoth = { token: bound.key, headers: { "x-api-key": TEST_KEY } };
    await expectEverywhere(withBoth, 403, "ip_denied");
    for (const header of ["x-api-key", "authorization"]) {
      const headers = { [header]: header === "x-api-key" ? zero.key : `Bearer ${zero.key}` };
      for (const name of ["chat", "messages", "responses", "embeddings"]) {
        const { status } = await ask({ ...(CALLS[name] as HttpCall), headers });
        expect([name, header, status]).toEqual([name, header, 429]);
      }
    }
    const allowed = { token: bound.key, headers: { "x-forwarded-for": "192.0.2.7" } };
    expect((await ask({ ...(CALLS["chat"] as HttpCall), ...allowed })).status).toBe(200);
    const broken = { headers: { authorization: "Bearer nonsense", "x-api-key": TEST_KEY } };
    expect((await ask({ path: "/v1/models", ...broken })).status).toBe(200);
  });

  const bound = "answers a bound key as its assistant, and never as a model or another assistant";
  table.shows("K11", "every metered route: a bound key", bound, async () => {
    const create = async (name: string) =>
      (await askOk({ ...call("/v1/assistants", { name }), token: admin })) as {
        readonly id: string;
        readonly ext: { readonly slug: string };
      };
    const [mine, other] = [await create("My Ässistant"), await create("Änother one")];
    const { key } = await issue(admin, { assistant_id: mine.id });
    const recording = [
      "--edge",
      'content-disposition: form-data; name="file"; filename="a.wav"',
      "",
      "RIFF",
      "--edge--",
      "",
    ].join("\r\n");
    const metered: Readonly<Record<string, (model: string | undefined) => HttpCall>> = {
      chat: (model) => call("/v1/chat/completions", { model, messages: QUESTION }),
      stream: (model) => call("/v1/chat/completions", { model, messages: QUESTION, stream: true }),
      messages: (model) => call("/v1/messages", { model, max_tokens: 50, messages: QUESTION }),
      count_tokens: (model) => call("/v1/messages/count_tokens", { model, messages: QUESTION }),
      responses: (model) => call("/v1/responses", { model, input: "Tell me something." }),
      embeddings: (model) => call("/v1/embeddings", { model, input: "something" }),
      transcription: () => ({
        ...call("/v1/audio/transcriptions", {}),
        body: recording,
        headers: { "content-type": "multipart/form-data; boundary=edge" },
      }),
    };
    const allowed = [
      undefined,
      mine.id,
      mine.ext.slug,
      "My Ässistant",
      "MY ÄSSISTANT ",
      "Ｍy A\u0308ssistant",
      "gpt-4",
      `${CHAT} `,
      CHAT.toUpperCase(),
      "\u0430sst_another",
      // No model that chats has the name.
      EMBEDDINGS,
    ];
    const refused = [
      CHAT,
      other.id,
      `${other.id} `,
      other.ext.slug,
      "Änother one",
      "ÄNOTHER ONE",
      "\tA\u0308nother one\u00a0",
      "Ä\uff4eother one",
    ];
    const missing = ["asst_1111111111111111111111", " ASST_ANOTHER"];
    const expected = new Map<string | undefined, number>([
      ...allowed.map((name) => [name, 200] as const),
      ...refused.map((name) => [name, 403] as const),
      ...missing.map((name) => [name, 404] as const),
    ]);
    const asked = () => simulator.ledger().filter(({ method }) => method === "POST").length;
    for (const [name, request] of Object.entries(metered)) {
      const isChat = name !== "embeddings" && name !== "transcription";
      for (const [model, status] of expected) {
        const before = asked();
        const answer = await ask({ ...request(model), token: key });
        expect([name, model, answer.status]).toEqual([name, model, isChat ? status : 403]);
        expectBound(name, answer, asked() - before);
      }
    }
    await askOk({ method: "DELETE", path: `/v1/assistants/${mine.id}`, token: admin });
    for (const model of expected.keys()) {
      const { status } = await ask({ ...metered["chat"]?.(model), token: key } as HttpCall);
      expect([model, status]).toEqual([model, 404]);
    }
  });

  const unknown = "answers no unknown assistant with another model";
  table.shows("K11", "chat: an id that nobody has", unknown, async () => {
    const { key } = await issue(admin);
    for (const model of ["asst_1111111111111111111111", "asst_", "asst_another"]) {
      const { status } = await ask({
        ...call("/v1/chat/completions", { model, messages: QUESTION }),
        token: key,
      });
      expect([model, status]).toEqual([model, 404]);
    }
  });

  const foreign = "shows and changes nothing of another's, and takes no field of its own making";
  table.shows("K12", "keys: foreign ids, mass assignment", foreign, async () => {
    const user = await createUser();
    const theirs = await issue(admin);
    const path = `/v1/api-keys/${theirs.id}`;
    const tries: readonly HttpCall[] = [
      { path },
      { path: `${path}/usage` },
      { method: "PATCH", path, body: { name: "mine now" } },
      { method: "POST", path: `${path}/rotate`, body: {} },
      { method: "DELETE", path },
    ];
    for (const request of tries) {
      expect((await ask({ ...request, token: user.token })).status).toBe(404);
    }
    await expectWorks(theirs.key);
    const admins = (await askOk({ path: "/api/auth/me", token: admin })).id;
    for (const field of [
      "userId",
      "ownerId",
      "keyHash",
      "key_hash",
      "used",
      "id",
      "change_seq",
      "key",
    ]) {
      const body = { name: "a key", [field]: "taken" };
      const answer = await ask({ method: "POST", path: "/v1/api-keys", token: user.token, body });
      expect([field, answer.status]).toEqual([field, 400]);
      expect(answer.body.error.param).toBe(field);
    }
    const body = { name: "a key", owner_id: admins };
    const forAdmin = await ask({ method: "POST", path: "/v1/api-keys", token: user.token, body });
    expect([400, 403, 404]).toContain(forAdmin.status);
    const { data } = await askOk({ path: "/v1/api-keys", token: user.token });
    expect(data).toEqual([]);
  });
});

describe("licenses", () => {
  table.shows("L01", "upload: damaged files", "keeps the license in force", async () => {
    const good = licenseText({ customer: "the one in force" });
    expect((await uploadText(gateway.port, admin, good)).status).toBe(200);
    const other = licenseText({ customer: "another" });
    const [payload = "", signature = ""] = other.split(".");
    const flipped = (at: number) =>
      other.slice(0, at) + (other[at] === "A" ? "B" : "A") + other.slice(at + 1);
    const damaged = [
      ...Array.from({ length: Math.ceil(other.length / 16) }, (_, index) => flipped(index * 16)),
      payload,
      `${payload}.`,
      `${payload}.${signature}x`,
      `${payload}.${signature}.${signature}`,
      `${signature}.${payload}`,
      "",
    ];
    for (const text of damaged)
      expect((await uploadText(gateway.port, admin, text)).status).toBe(400);
    await expectInForce("the one in force");
  });

  table.shows("L02", "upload: other signatures", "keeps the license in force", async () => {
    const own = licenseText({ customer: "another" });
    const payload = own.split(".")[0] ?? "";
    const base64 = (text: string) => Buffer.from(text).toString("base64url");
    const stranger = makeLicenseKeys().publicKey;
    const games = [
      `${payload}.${base64("none")}`,
      `${payload}.${Buffer.alloc(64).toString("base64url")}`,
      `${payload}.${base64(vendor.publicKey)}`,
      `${payload}.${base64(stranger)}`,
      `${base64('{"alg":"none"}')}.${payload}.`,
      `${base64('{"version":1}')}.${own.split(".")[1]}`,
    ];
    for (const text of games) {
      const answer = await uploadText(gateway.port, admin, text);
      expect(answer.status).toBe(400);
      expect(answer.text).not.toMatch(/ed25519|signature bytes|base64|at .*\.ts/i);
    }
    await expectInForce("the one in force");
  });
});

async function expectInForce(customer: string): Promise<void> {
  const details = await askOk({ path: "/api/license/details", token: admin });
  expect(details.customer).toBe(customer);
  expect((await askOk({ path: "/v1/health" })).license).toMatchObject({
    valid: true,
    warning: null,
  });
}
