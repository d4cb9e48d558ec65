import pg from "pg";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { callHttp, logIn } from "../../support/clients/http-session.ts";
import { trialSize } from "../../support/faults/trial-size.ts";
import { databaseServerUrl } from "../../support/servers/databases/database-server.ts";
import { type Replicas, startReplicas } from "../../support/servers/start-replicas.ts";

vi.setConfig({ testTimeout: 200_000, hookTimeout: 200_000 });

/** Shown with one gateway elsewhere (`data-port.test.ts`); several are for the fault suite. */
const REPLICAS = trialSize(0, 3);
const PASSWORD = "a good password";
const WAIT = { timeout: 100_000, interval: 100 };
const EXPIRES_AFTER_MS = 5_000;

interface Issued {
  readonly id: string;
  readonly key: string;
  /** Of the replica that issued it. */
  readonly port: number;
}

const isShown = REPLICAS > 0 && databaseServerUrl !== undefined;

describe.skipIf(!isShown)(`B02: the PostgreSQL ports of ${REPLICAS} replicas`, () => {
  let gateways: Replicas["gateways"] = [];
  let finish: Replicas["finish"] | undefined;
  const ports: number[] = [];
  const clients: pg.Client[] = [];
  let token: string;

  beforeAll(async () => {
    const replicas = await startReplicas({
      count: REPLICAS,
      environment: {
        ADMIN_PASSWORD: PASSWORD,
        BIKEY_PG_PROXY_ENABLED: "1",
        BIKEY_PG_PROXY_PORT: "0",
      },
    });
    if (replicas === undefined) throw new Error("this needs PostgreSQL and Redis");
    ({ gateways, finish } = replicas);
    token = await logIn(gateways[0]?.url ?? "", "admin", PASSWORD);
    for (const { url } of gateways) {
      await vi.waitFor(async () => {
        const { body } = await callHttp(url, { path: "/api/ready" });
        expect(body.bi).toBe("open");
      }, WAIT);
      ports.push((await issueAt(url)).port);
    }
  });
  afterAll(async () => {
    for (const client of clients) await client.end().catch(() => undefined);
    await finish?.();
  });

  async function issueAt(url: string, fields: object = {}): Promise<Issued> {
    const { body } = await callHttp(url, {
      ...{ method: "POST", path: "/v1/bi-keys", token },
      body: { name: "report", datasets: ["*"], ...fields },
    });
    return { id: body.id, key: body.key, port: Number(new URL(body.connections.uri).port) };
  }
  const issue = (fields?: object) => issueAt(gateways[0]?.url ?? "", fields);
  const change = (method: string, { id }: Issued, body?: object) =>
    callHttp(gateways[0]?.url ?? "", { method, path: `/v1/bi-keys/${id}`, token, body });

  /** Opens a connection, and returns a promise for the error that ends it. */
  async function open(key: string, port: number): Promise<Promise<string>[]> {
    const client = new pg.Client({
      ...{ host: "127.0.0.1", port, user: "any", database: "any", password: key },
      connectionTimeoutMillis: 60_000,
    });
    const ended = new Promise<string>((resolve) => {
      client.on("error", (error: Error & { readonly code?: string }) => {
        resolve(error.code ?? error.message);
      });
    });
    await client.connect();
    clients.push(client);
    // In a list, because an async function would wait for a promise that it returns.
    return [ended];
  }
  /** One connection at each replica, once it knows the key. */
  async function openAtEach({ key }: Issued): Promise<readonly Promise<string>[]> {
    const opened = ports.map((port) => vi.waitFor(() => open(key, port), WAIT));
    return (await Promise.all(opened)).flat();
  }
  /** A replica that has not heard of the change yet may let one in, which ends as soon as it has. */
  async function refusedAtEach({ key }: Issued): Promise<void> {
    const late: Promise<string>[] = [];
    const knock = async (port: number) => late.push(...(await open(key, port)));
    const refused = ports.map((port) =>
      vi.waitFor(() => expect(knock(port)).rejects.toThrow(), WAIT),
    );
    await Promise.all(refused);
    expect(new Set(await Promise.all(late))).toEqual(new Set(late.length > 0 ? ["57P01"] : []));
  }

  it.each([
    ["deleted", "DELETE", undefined],
    ["made inactive", "PATCH", { state: "inactive" }],
    ["bound to another address", "PATCH", { ip_allow: ["192.0.2.1"] }],
  ])("end the connections of a key that is %s at one of them", async (how, method, body) => {
    const issued = await issue();
    const ended = await openAtEach(issued);
    const changedMs = performance.now();
    const answer = await change(method, issued, body);
    expect([200, 204]).toContain(answer.status);
    expect(await Promise.all(ended)).toEqual(ports.map(() => "57P01"));
    await refusedAtEach(issued);
    // biome-ignore lint/suspicious/noConsole: the figure is what is asked for
    console.info(`${how}: gone everywhere after ${Math.round(performance.now() - changedMs)} ms`);
  });

  it("end the connections of a key that expires", async () => {
    const expiresMs = Date.now() + EXPIRES_AFTER_MS;
    const issued = await issue({ expires_at: new Date(expiresMs).toISOString() });
    const ended = await openAtEach(issued);
    expect(await Promise.all(ended)).toEqual(ports.map(() => "57P01"));
    await refusedAtEach(issued);
    // biome-ignore lint/suspicious/noConsole: the figure is what is asked for
    console.info(`expired: gone everywhere after ${Date.now() - expiresMs} ms`);
  });
});
