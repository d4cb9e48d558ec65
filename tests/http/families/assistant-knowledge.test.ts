import { eq } from "drizzle-orm";
import OpenAI from "openai";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Database } from "../../../src/db/database.ts";
import { vectorStores } from "../../../src/db/tables/knowledge.ts";
import { createEmbedder } from "../../../src/knowledge/embed-texts.ts";
import { createKeepActive } from "../../../src/knowledge/stores/keep-active.ts";
import { callHttp, logIn } from "../../support/clients/http-session.ts";
import { databaseServerUrl } from "../../support/servers/databases/database-server.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";
import { addFile, addStore } from "../../support/stages/knowledge/retrieval-stage.ts";
import { ADMIN_PASSWORD, type ServedDeps, serveDeps } from "../../support/stages/served-deps.ts";
import { addKey, addPerson } from "../../support/stages/usage/usage-people.ts";

const STORE = "vs_0000000000000000000001";
const TEXTS = [
  "The machine E-4711 has a warranty of two years.",
  "Holidays are booked with the office, four weeks ahead.",
  "Coffee is free on all floors.",
];

const stores: [string, string | undefined][] = [["the embedded database", undefined]];
if (databaseServerUrl !== undefined) stores.push(["PostgreSQL", databaseServerUrl]);

describe.each(stores)("Knowledge in a chat, by the real search on %s", (_name, serverUrl) => {
  let simulator: TestSimulator;
  let served: ServedDeps;
  let client: OpenAI;
  let foreign: OpenAI;
  let adminToken: string;
  let helperId: string;
  const clientOf = (apiKey: string) =>
    new OpenAI({ apiKey, baseURL: `${served.url}/v1`, maxRetries: 0 });

  beforeAll(async () => {
    simulator = await startSimulator();
    const environment = { LLM_BACKEND: "vllm", LLM_BASE_URL: simulator.url };
    served = await serveDeps(serverUrl, environment);
    await served.deps.gateway.models.refresh();
    const embedder = createEmbedder(served.deps.gateway.embeddings, served.deps.settings);
    const model = await embedder.defaultModel();
    const vectors = await embedder.embedPassages(model, TEXTS, new AbortController().signal);
    await served.deps.access.database.ask(async (db) => {
      const database = { db } as Database;
      await addStore(database, STORE, vectors[0]?.length ?? 0, model);
      await addFile(database, {
        storeId: STORE,
        id: "file-handbook",
        chunks: TEXTS.map((text, index) => ({ text, vector: vectors[index] as Float32Array })),
      });
    });
    const token = await logIn(served.url, "admin", ADMIN_PASSWORD);
    const body = {
      name: "Helper",
      model: "sim-chat",
      tool_resources: { file_search: { vector_store_ids: [STORE] } },
      ext: { tools: ["search_knowledge"], grounding: "strict" },
    };
    const made = await callHttp(served.url, {
      method: "POST",
      path: "/v1/assistants",
      token,
      body,
    });
    expect(made.status, made.text).toBe(200);
    adminToken = token;
    helperId = made.body.id;
    const scope = { tools: ["*"], sql_connections: ["*"] };
    const { body: issued } = await callHttp(served.url, {
      method: "POST",
      path: "/v1/api-keys",
      token,
      body: { name: "admin's", tool_scope: scope },
    });
    client = clientOf(issued.key);
    const other = await addPerson(served.url, token, "other");
    foreign = clientOf((await addKey(served.url, other.token, "other's")).key);
  });
  afterEach(() => simulator.reset());
  afterAll(async () => {
    await served.close();
    await simulator.stop();
  });

  it("embeds a question and tells what the engine counts of it", async () => {
    const embedder = createEmbedder(served.deps.gateway.embeddings, served.deps.settings);
    const counts: number[] = [];
    const model = await embedder.defaultModel();
    const { signal } = new AbortController();
    await embedder.embedQuestion(model, "How long?", signal, (tokens) => counts.push(tokens));
    expect(counts).toHaveLength(1);
    expect(counts[0]).toBeGreaterThan(0);
  });

  it("is found by a code of the question, given to the model and told as a source", async () => {
    simulator.script({ match: { path: "/v1/chat/completions" }, text: "Two years [1]." });
    const messages = [{ role: "user" as const, content: "How long is the warranty of E-4711?" }];
    const answer = await client.chat.completions.create({ model: "Helper", messages });
    expect(answer).toMatchObject({
      model: "Helper",
      ext: {
        sources: expect.arrayContaining([
          expect.objectContaining({
            text: TEXTS[0],
            file_id: "file-handbook",
            index: 1,
            cited: true,
          }),
        ]),
      },
    });
    const asked = simulator.ledger().find(({ path }) => path.endsWith("/completions"));
    expect(asked?.body).toContain("E-4711 has a warranty");
  });

  it("is searched again by the model itself", async () => {
    const path = "/v1/chat/completions";
    const query = "E-4711";
    simulator.script(
      { match: { path }, toolCalls: [{ name: "search_knowledge", arguments: { query } }] },
      { match: { path }, text: "Found." },
    );
    const messages = [
      {
        role: "user" as const,
        content: "What about the machine E-4711, please tell me all of it?",
      },
    ];
    const answer = await client.chat.completions.create({ model: "Helper", messages });
    expect(answer).toMatchObject({
      ext: { tool_runs: [{ name: "search_knowledge", status: "ok" }] },
    });
  });

  it("is given to any model for a client of responses that asks for file_search", async () => {
    simulator.script({ match: { path: "/v1/chat/completions" }, text: "Two years [1]." });
    const answer = await client.responses.create({
      model: "sim-chat",
      input: "How long is the warranty of E-4711?",
      tools: [{ type: "file_search", vector_store_ids: [STORE] }],
    });
    expect(answer.output[0]).toMatchObject({ type: "file_search_call", status: "completed" });
    expect(JSON.stringify(answer.output[1])).toContain('"type":"file_citation"');
    const [asked] = simulator.ledger().filter(({ path }) => path.endsWith("/completions"));
    expect(asked?.body).toContain("cite its number in square brackets");
  });

  it("does not exist for a caller who may not use the store", async () => {
    const asking = foreign.responses.create({
      model: "sim-chat",
      input: "How long is the warranty of E-4711?",
      tools: [{ type: "file_search", vector_store_ids: [STORE] }],
    });
    await expect(asking).rejects.toMatchObject({ status: 404, code: "not_found" });
    expect(simulator.ledger().filter(({ path }) => path.endsWith("/completions"))).toEqual([]);
  });

  const QUESTION = "How long is the warranty of E-4711?";
  const messages = [{ role: "user" as const, content: QUESTION }];
  const chatCalls = () => simulator.ledger().filter(({ path }) => path.endsWith("/completions"));
  const share = (visibility: "everyone" | "private") =>
    served.deps.access.database.ask((db) =>
      db.update(vectorStores).set({ visibility }).where(eq(vectorStores.id, STORE)),
    );

  it("is not reached by a search of a key that is bound to an assistant", async () => {
    const { body: issued } = await callHttp(served.url, {
      method: "POST",
      path: "/v1/api-keys",
      token: adminToken,
      body: { name: "bound", assistant_id: helperId },
    });
    const asking = clientOf(issued.key).responses.create({
      input: QUESTION,
      tools: [{ type: "file_search", vector_store_ids: [STORE] }],
    });
    await expect(asking).rejects.toMatchObject({ status: 403, code: "insufficient_permission" });
    expect(chatCalls()).toEqual([]);
  });

  it("is gone from another user's assistant once its store is private again", async () => {
    await share("everyone");
    await foreign.beta.assistants.create({
      name: "Borrower",
      model: "sim-chat",
      tool_resources: { file_search: { vector_store_ids: [STORE] } },
    });
    const ask = () => foreign.chat.completions.create({ model: "Borrower", messages });
    expect(await ask()).toMatchObject({ ext: { sources: [{ text: TEXTS[0] }] } });
    await share("private");
    expect(await ask()).not.toMatchObject({ ext: { sources: expect.anything() } });
    expect(chatCalls().at(-1)?.body).not.toContain("has a warranty");
  });

  it("keeps its store from expiring when an assistant uses it", async () => {
    const { database } = served.deps.access;
    const long = new Date("2026-01-01T00:00:00Z");
    const lastActive = () =>
      database.ask(async (db) => {
        const found = eq(vectorStores.id, STORE);
        const [row] = await db
          .select({ at: vectorStores.lastActiveAt })
          .from(vectorStores)
          .where(found);
        return row?.at;
      });
    await database.ask((db) =>
      db.update(vectorStores).set({ lastActiveAt: long }).where(eq(vectorStores.id, STORE)),
    );
    const keepActive = createKeepActive({
      database: { askOwn: database.ask },
      clock: served.deps.clock,
    });
    keepActive([STORE]);
    await expect.poll(lastActive).not.toEqual(long);
  });

  it("fails a call whose question cannot be embedded, and the call has its usage row", async () => {
    simulator.script({
      match: { path: "/v1/embeddings" },
      times: "always",
      respond: { status: 500, body: { error: { message: "broken" } } },
    });
    const failed = await client.chat.completions
      .create({ model: "Helper", messages })
      .then(() => undefined)
      .catch((thrown: { status: number; requestID: string }) => thrown);
    expect(failed?.status).toBe(502);
    const row = async () => {
      const path = `/api/requests/${failed?.requestID}`;
      return (await callHttp(served.url, { path, token: adminToken })).body;
    };
    await expect.poll(row).toMatchObject({ status: 502, assistant_id: helperId, input_tokens: 0 });
  });
});
