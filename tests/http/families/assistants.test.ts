import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { vectorStores } from "../../../src/db/tables/knowledge.ts";
import type { Passage } from "../../../src/knowledge/retrieve/passage.ts";
import { createToolRegistry } from "../../../src/tools/registry.ts";
import type { Tool } from "../../../src/tools/tool.ts";
import { callHttp, logIn } from "../../support/clients/http-session.ts";
import { databaseServerUrl } from "../../support/servers/databases/database-server.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";
import { passage, testTool } from "../../support/stages/assistant-stage.ts";
import { ADMIN_PASSWORD, type ServedDeps, serveDeps } from "../../support/stages/served-deps.ts";

const ENGINES = [
  ["vllm", "sim-chat"],
  ["ollama", "sim-chat"],
  ["anthropic", "claude-opus-4-6"],
] as const;
const KEEPALIVE_MS = "100";
const STORE = "vs_0000000000000000000000";

type Json = Readonly<Record<string, unknown>>;

describe.each(ENGINES)("An assistant over HTTP on %s", (engine, model) => {
  let simulator: TestSimulator;
  let local: TestSimulator;
  let served: ServedDeps;
  let token: string;
  let key: string;
  let assistantId: string;
  let found: readonly Passage[] = [];
  let searching: Promise<unknown> = Promise.resolve();
  const tools: Tool[] = [];

  const openai = () => new OpenAI({ apiKey: key, baseURL: `${served.url}/v1`, maxRetries: 0 });
  const anthropic = () => new Anthropic({ apiKey: key, baseURL: served.url, maxRetries: 0 });
  const post = async (path: string, body: Json) => {
    const { status, body: answer } = await callHttp(served.url, {
      method: "POST",
      path,
      body,
      token,
    });
    if (status >= 300) throw new Error(JSON.stringify(answer));
    return answer;
  };

  beforeAll(async () => {
    const isLocal = engine !== "anthropic";
    simulator = await startSimulator({ engine });
    local = isLocal ? simulator : await startSimulator();
    served = await serveDeps(
      engine === "vllm" ? undefined : databaseServerUrl,
      {
        LLM_BACKEND: isLocal ? engine : "vllm",
        LLM_BASE_URL: local.url,
        STREAM_KEEPALIVE_MS: KEEPALIVE_MS,
        ...(!isLocal && {
          ANTHROPIC_API_KEY: "any",
          ANTHROPIC_BASE_URL: simulator.url,
          ANTHROPIC_MODELS: model,
        }),
      },
      (deps) => {
        const { assistants } = deps.gateway;
        if (assistants === undefined) throw new Error("no assistants are served");
        const search = async () => {
          await searching;
          return found;
        };
        const registry = createToolRegistry({ search, settings: deps.settings }, [
          { list: () => tools },
        ]);
        const gateway = { ...deps.gateway, assistants: { ...assistants, search, tools: registry } };
        return { ...deps, gateway, tools: registry };
      },
    );
    await served.deps.gateway.models.refresh();
    token = await logIn(served.url, "admin", ADMIN_PASSWORD);
    const row = {
      id: STORE,
      name: "handbook",
      embeddingModel: "m",
      visibility: "everyone",
    } as const;
    await served.deps.access.database.ask((db) => db.insert(vectorStores).values(row));
    tools.push(testTool("look_up", async () => ({ text: "four" })));
    const { id } = await post("/v1/assistants", {
      name: "Helper",
      model,
      instructions: "Be brief.",
      tool_resources: { file_search: { vector_store_ids: [STORE] } },
      ext: { tools: ["*"], max_level: "write" },
    });
    assistantId = String(id);
    const issued = await post("/v1/api-keys", {
      name: "bound",
      assistant_id: id,
      tool_scope: { tools: ["*"], sql_connections: ["*"] },
    });
    key = String(issued["key"]);
  });
  afterEach(() => {
    simulator.reset();
    found = [];
    searching = Promise.resolve();
    tools.splice(1);
  });
  afterAll(async () => {
    await served.close();
    await Promise.all([simulator.stop(), local.stop()]);
  });

  /** What a client asks who has no library. */
  const askStreaming = (path: string) => {
    const messages = [{ role: "user", content: "What is it?" }];
    const question = path.endsWith("responses")
      ? { input: "What is it?" }
      : { messages, max_tokens: 500 };
    return fetch(served.url + path, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "helper", stream: true, ...question }),
    });
  };
  const keepalives = (text: string) => text.match(/^:|^data: \{"type":"ping"\}/gm)?.length ?? 0;

  /** One turn with a call, then the answer. */
  const script = () => {
    found = [passage("The answer is four.")];
    simulator.script(
      {
        text: "A moment.",
        toolCalls: [{ name: "look_up", arguments: { of: "it" } }],
        finishReason: "tool_calls",
      },
      { text: "It is four [1]." },
    );
  };
  const TEXT = "A moment.\n\nIt is four [1].";
  const RUN = { name: "look_up", status: "ok" };
  const SOURCE = { index: 1, vector_store_id: "vs_1", filename: "handbook.pdf", cited: true };

  it("answers chat completions, whole and streamed", async () => {
    script();
    const messages = [{ role: "user" as const, content: "What is it?" }];
    const whole = await openai().chat.completions.create({ model: "helper", messages });
    expect(whole.choices[0]?.message).toMatchObject({ content: TEXT });
    expect(whole.choices[0]?.finish_reason).toBe("stop");
    expect(whole).toMatchObject({
      model: "Helper",
      ext: { model: expect.stringContaining(model), sources: [SOURCE], tool_runs: [RUN] },
    });
    script();
    const stream = await openai().chat.completions.create({
      model: "helper",
      messages,
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks: Json[] = [];
    let text = "";
    for await (const chunk of stream) {
      chunks.push({ ...chunk });
      text += chunk.choices[0]?.delta.content ?? "";
    }
    expect(text).toBe(TEXT);
    const ext = chunks.flatMap((chunk) =>
      chunk["ext"] === undefined ? [] : [chunk["ext"] as Json],
    );
    expect(ext.flatMap((one) => one["tool_run"] ?? [])).toMatchObject([
      { name: "look_up", status: "running" },
      RUN,
    ]);
    expect(ext.flatMap((one) => one["sources"] ?? [])).toMatchObject([SOURCE]);
    expect(chunks.every((chunk) => chunk["model"] === "Helper")).toBe(true);
  });

  it("shows a session what a tool was called with and what came of it, and a key nothing of it", async () => {
    const ask = async (path: string, bearer: string) => {
      script();
      const messages = [{ role: "user", content: "What is it?" }];
      const headers = { authorization: `Bearer ${bearer}`, "content-type": "application/json" };
      const body = JSON.stringify({ model: "helper", messages, max_tokens: 500, stream: true });
      return (await fetch(served.url + path, { method: "POST", headers, body })).text();
    };
    for (const path of ["/chat/completions", "/messages"]) {
      const toSession = await ask(`/api/v1${path}`, token);
      expect(toSession).toMatch(
        /"tool_run":\{[^}]*"status":"running","arguments":"\{\\"of\\": ?\\"it\\"\}"\}/,
      );
      expect(toSession).toMatch(
        /"status":"ok","duration_ms":\d+,"arguments":".*?","result":"four"/,
      );
      expect(await ask(`/v1${path}`, key)).not.toMatch(/"arguments"|"result"/);
    }
  });

  it("answers messages, whole and streamed", async () => {
    script();
    const question = {
      model: "helper",
      max_tokens: 500,
      messages: [{ role: "user" as const, content: "What is it?" }],
    };
    const whole = await anthropic().messages.create(question);
    const textOf = ({ content }: { content: readonly object[] }) =>
      content.map((block) => ("text" in block ? block.text : "")).join("");
    expect(textOf(whole)).toBe(TEXT);
    expect(whole).toMatchObject({
      model: "Helper",
      stop_reason: "end_turn",
      ext: { sources: [SOURCE] },
    });
    script();
    const final = await anthropic().messages.stream(question).finalMessage();
    expect(textOf(final)).toBe(TEXT);
    expect(final.stop_reason).toBe("end_turn");
  });

  it("answers responses, whole and streamed", async () => {
    script();
    const whole = await openai().responses.create({ model: "helper", input: "What is it?" });
    expect(whole.output_text).toBe(TEXT);
    expect(whole).toMatchObject({
      model: "Helper",
      ext: { model: expect.stringContaining(model), sources: [SOURCE], tool_runs: [RUN] },
    });
    script();
    const stream = openai().responses.stream({ model: "helper", input: "What is it?" });
    expect((await stream.finalResponse()).output_text).toBe(TEXT);
  });

  it("is only a name of its model for an agent's key, in every frame of an answer", async () => {
    const agent = await post("/v1/api-keys", {
      name: "agent",
      assistant_id: assistantId,
      passthrough: true,
      tool_scope: { tools: ["*"], sql_connections: ["*"] },
    });
    found = [passage("The answer is four.")];
    const messages = [{ role: "user", content: "What is it?" }];
    const parameters = { type: "object", properties: {} };
    const questions = {
      "/v1/chat/completions": {
        messages,
        tools: [{ type: "function", function: { name: "theirs", parameters } }],
      },
      "/v1/messages": {
        messages,
        max_tokens: 500,
        tools: [{ name: "theirs", input_schema: parameters }],
      },
      "/v1/responses": {
        input: "What is it?",
        tools: [{ type: "function", name: "theirs", parameters, strict: false }],
      },
    };
    for (const [path, question] of Object.entries(questions)) {
      for (const stream of [false, true]) {
        simulator.reset();
        simulator.script({ text: "Four" });
        const response = await fetch(served.url + path, {
          method: "POST",
          headers: { authorization: `Bearer ${agent["key"]}`, "content-type": "application/json" },
          body: JSON.stringify({ ...question, stream }),
        });
        const text = await response.text();
        expect(text).toContain("Four");
        expect(response.headers.get("x-ignored-parameters")).toBeNull();
        const frames = stream
          ? Array.from(text.matchAll(/^data: (\{.*)$/gm), ([, frame]) => frame)
          : [text];
        const names = frames.map((frame) => namedModel(JSON.parse(frame ?? "")));
        expect(new Set(names.filter((name) => name !== undefined))).toEqual(new Set(["Helper"]));
        const asked = JSON.stringify(simulator.ledger().map(({ body }) => body));
        expect(asked).toContain("theirs");
        expect(asked).not.toMatch(/Be brief|look_up|The answer is four/);
      }
    }
  });

  it("has the sum of its turns in the usage, as the engine counts them", async () => {
    script();
    const messages = [{ role: "user" as const, content: "What is it?" }];
    const { usage } = await openai().chat.completions.create({ model: "helper", messages });
    const told = simulator.ledger().flatMap((entry) => entry.told ?? []);
    expect(told).toHaveLength(2);
    expect(usage?.prompt_tokens).toBe(told.reduce((sum, { inputTokens }) => sum + inputTokens, 0));
    expect(usage?.completion_tokens).toBe(
      told.reduce((sum, { outputTokens }) => sum + outputTokens, 0),
    );
  });

  it.each(["/v1/chat/completions", "/v1/messages", "/v1/responses"])(
    "keeps %s alive while it searches and while a tool runs",
    async (path) => {
      const [searched, waited] = [newGate(), newGate()];
      searching = searched.promise;
      tools.push(
        testTool("wait", async () => {
          await waited.promise;
          return { text: "at last" };
        }),
      );
      simulator.script(
        { toolCalls: [{ name: "wait", arguments: {} }], finishReason: "tool_calls" },
        { text: "Done" },
      );
      const response = await askStreaming(path);
      expect(response.status).toBe(200);
      let text = "";
      const decoder = new TextDecoder();
      for await (const bytes of response.body ?? []) {
        text += decoder.decode(bytes, { stream: true });
        const [before = "", after = ""] = text.split('"running"');
        if (keepalives(before) >= 2) searched.open();
        if (keepalives(after) >= 2) waited.open();
      }
      expect(text.indexOf("Done")).toBeGreaterThan(text.indexOf('"running"'));
      expect(text.indexOf('"running"')).toBeGreaterThan(0);
    },
  );

  it("lists its tools for the bound key, and none for a session", async () => {
    const list = async (by: string) =>
      (await callHttp(served.url, { path: "/v1/tools", token: by })).body;
    expect(await list(key)).toMatchObject({
      object: "list",
      data: [
        {
          type: "function",
          function: { name: "look_up" },
          ext: { level: "read_only", source: "builtin" },
        },
        {
          type: "function",
          function: { name: "search_knowledge", parameters: { type: "object" } },
        },
      ],
    });
    expect(await list(token)).toEqual({ object: "list", data: [] });
  });

  it("refuses a tool by name that the caller cannot see", async () => {
    const messages = [{ role: "user" as const, content: "What is it?" }];
    const metadata = { ext: { tools_scope: ["execute_shell"] } } as never;
    const asking = openai().chat.completions.create({ model: "helper", messages, metadata });
    await expect(asking).rejects.toMatchObject({
      status: 400,
      code: "invalid_value",
      param: "metadata.ext.tools_scope",
    });
  });
});

function newGate() {
  let open: () => void = () => undefined;
  const promise = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { promise, open };
}

/** The model that an answer or a frame of one names, in each family's place. */
function namedModel({
  model,
  message,
  response,
}: Readonly<Record<string, Json & string>>): unknown {
  return model ?? message?.["model"] ?? response?.["model"];
}
