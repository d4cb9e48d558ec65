import { setTimeout as sleep } from "node:timers/promises";
import { CHAT_PATH, callGateway, type GatewayRequest, openCall } from "../clients/call-gateway.ts";
import { CLIENT_FAMILIES } from "../clients/client-family.ts";
import { openRawClient, type RawResponse } from "../clients/raw-client.ts";
import { TEST_KEY, type TestGateway } from "../servers/start-gateway.ts";
import type { TestSimulator } from "../servers/start-simulator.ts";
import { ENGINE_KEY } from "../stages/engine-stage.ts";

export const HOSTILE_MODEL = "logged";
/** Everything that is to be seen by nobody but whom it is for. */
export const CANARIES = {
  adminPassword: "canary-admin-password-77",
  databasePassword: "canary-database-password-31",
  vendorKey: "canary-vendor-key-0451",
  metricsToken: "canary-metrics-token-9917",
  prompt: "canary-prompt-of-a-client",
  answer: "canary-answer-of-the-engine",
  query: "canary-query-of-a-client",
  cookie: "canary-cookie-of-a-console",
  foreignKey: "sk-canary0123456789abcdefghijklmnopqrstuvwxyz",
  engineKey: ENGINE_KEY,
  ownKey: TEST_KEY,
} as const;
/** What would be a line of its own, an end of the text, or a colour, if it were written as it is. */
const FORGERY =
  '"}\n{"level":"fatal","msg":"forged"}\r\n\u001b[31mred\u009b32m\u2028{"msg":"forged"}';

const { prompt, answer, query, cookie, foreignKey, adminPassword } = CANARIES;
const ask = (what: string) => `${prompt}: ${what}`;

/** What the engine answers to the questions of these calls. */
export function scriptHostileAnswers(simulator: TestSimulator): void {
  simulator.script({
    match: { body: "say it slowly" },
    times: "always",
    text: `${answer} `,
    repeat: 2_000,
    tokensPerSecond: 50,
  });
  simulator.script({
    match: { body: "fail at once" },
    times: "always",
    respond: { status: 500, body: { error: { message: `${prompt} ${ENGINE_KEY} broke me` } } },
  });
  simulator.script({
    match: { body: "fail midway" },
    times: "always",
    text: `${answer} `,
    repeat: 5,
    cut: { at: 3, how: "reset" },
  });
  simulator.script({ match: { body: "say it" }, times: "always", text: `${answer} `, repeat: 3 });
}

/** Calls of every kind, whose every text is either a secret or an attack. */
export async function sendHostileCalls(
  { port }: TestGateway,
  session: string,
  round: number,
): Promise<readonly RawResponse[]> {
  const hostile = {
    "user-agent": `x ${cookie}`,
    "x-request-id": "req_forged",
    "x-forwarded-for": "203.0.113.9, canary-forwarded",
    referer: `https://u:${cookie}@example/?${query}`,
    cookie: `gateway_session=${cookie}; other=${cookie}`,
  };
  const calls: GatewayRequest[] = [];
  for (const family of CLIENT_FAMILIES) {
    for (const what of ["say it", "fail at once", "fail midway"]) {
      const stream = round % 2 === 0;
      const body = family.body(HOSTILE_MODEL, { stream }, ask(what));
      calls.push({ path: `${family.path}?key=${query}`, headers: hostile, body });
    }
    const { path } = family;
    const body = family.body(`gpt-5`, {}, ask("say it"));
    calls.push({ path, headers: hostile, body });
    calls.push({ path, headers: hostile, body: family.body(FORGERY, {}, ask("say it")) });
    calls.push({ path, headers: hostile, body: `{"model":"${prompt}` });
    calls.push({ path, headers: { authorization: `Bearer ${session}` }, body });
    calls.push({ path, headers: { authorization: `Bearer ${foreignKey}` }, body });
  }
  const input = ask("embed");
  calls.push({ path: "/v1/embeddings", headers: hostile, body: { model: HOSTILE_MODEL, input } });
  calls.push({
    path: "/v1/messages/count_tokens",
    body: { model: HOSTILE_MODEL, messages: [{ role: "user", content: ask("count") }] },
  });
  const token = { authorization: `Bearer ${session}` };
  const wrong = { username: `admin${FORGERY}`, password: `${adminPassword}-wrong` };
  calls.push({ path: "/api/auth/login", body: wrong });
  calls.push({ method: "GET", path: `/api/auth/me?${query}`, headers: token });
  calls.push({ method: "GET", path: `/v1/models/${encodeURIComponent(FORGERY)}` });
  calls.push({ method: "GET", path: `/v1/none/${foreignKey}/${encodeURIComponent(FORGERY)}` });
  calls.push({ method: "PROPFIND", path: CHAT_PATH, headers: hostile });
  for (const path of ["/api/health", "/api/ready", "/v1/health", "/nothing"])
    calls.push({ method: "GET", path, headers: hostile });
  return Promise.all(calls.map((call) => callGateway(port, call)));
}

/** Streams whose client leaves in the middle, and calls whose client leaves before an answer. */
export async function leaveCalls({ port }: TestGateway): Promise<void> {
  for (const family of CLIENT_FAMILIES) {
    for (const stream of [true, false]) {
      const body = family.body(HOSTILE_MODEL, { stream }, ask("say it slowly"));
      const client = await openCall(port, { path: family.path, body });
      if (stream) await client.readUntil((received) => received.includes(family.saidMark));
      else await sleep(300);
      client.close();
    }
  }
}

/** What no client library would send. */
export async function sendRawAttacks({ port }: TestGateway): Promise<void> {
  const requests = [
    `GET /\u001b[31m\u0085\u009b"}{ HTTP/1.1\r\nHost: a\r\n\r\n`,
    `GET /a%0a%7b%22level%22:%22fatal%22,%22msg%22:%22forged%22%7d HTTP/1.1\r\nHost: a\r\n\r\n`,
    `GET /\\..\\${query.replace("canary", "c")} HTTP/1.1\r\nHost: a b\r\n\r\n`,
    `GET /api/health HTTP/1.1\r\nHost: a\r\nX: \u001b[2Jx\u0085y\r\n\r\n`,
    `${"A".repeat(4_000)} / HTTP/1.1\r\nHost: a\r\n\r\n`,
    `GET /${"b".repeat(6_000)} HTTP/1.1\r\nHost: a\r\n\r\n`,
  ];
  for (const request of requests) {
    const client = await openRawClient(port);
    client.send(Buffer.from(request, "latin1"));
    await sleep(100);
    client.close();
  }
}
