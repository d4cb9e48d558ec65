import { sql } from "drizzle-orm";
import type { Backend } from "../../../src/backends/backend.ts";
import { createModelCatalog } from "../../../src/backends/models/model-catalog.ts";
import { createReplayMemory } from "../../../src/backends/replay/replay-memory.ts";
import { createAnthropic } from "../../../src/backends/vendors/anthropic.ts";
import { createGoogle } from "../../../src/backends/vendors/google.ts";
import { createOllama } from "../../../src/backends/vendors/ollama.ts";
import { createOpenai } from "../../../src/backends/vendors/openai.ts";
import { createVllm } from "../../../src/backends/vendors/vllm.ts";
import type { Caller, KeyLimits } from "../../../src/core/callers/caller.ts";
import type { ChatEvent } from "../../../src/core/chat/chat-event.ts";
import type { ChatRequest } from "../../../src/core/chat/chat-request.ts";
import { answerChat } from "../../../src/gateway/answer-chat.ts";
import type { AssistantServices } from "../../../src/gateway/assistant/assistant-services.ts";
import type { Gateway } from "../../../src/gateway/gateway.ts";
import type { Assistant } from "../../../src/knowledge/assistants/assistant.ts";
import { AssistantIndex } from "../../../src/knowledge/assistants/assistant-index.ts";
import type { Passage, Question } from "../../../src/knowledge/retrieve/passage.ts";
import { randomBase62 } from "../../../src/lib/id.ts";
import { systemClock } from "../../../src/lib/time/clock.ts";
import type { Limits } from "../../../src/limits/limits.ts";
import { openMemoryLimits } from "../../../src/limits/memory-limits.ts";
import { openRedisLimits } from "../../../src/limits/redis/redis-limits.ts";
import { createToolRegistry } from "../../../src/tools/registry.ts";
import type { Tool } from "../../../src/tools/tool.ts";
import { upstreamAt } from "../../backends/support.ts";
import { openTestDatabase } from "../servers/databases/test-database.ts";
import { startSimulator, type TestSimulator } from "../servers/start-simulator.ts";
import { testAssistant } from "./assistants.ts";
import { journalRoot, openTestJournal, silentLog } from "./usage/usage-journal.ts";

export const UNLIMITED: KeyLimits = {
  monthlyTokens: null,
  requests: null,
  requestsPerMinute: null,
  tokens: null,
};

export type Vendor = "vllm" | "ollama" | "anthropic" | "gemini" | "openai";

const MODELS: Readonly<Record<Vendor, string>> = {
  vllm: "sim-chat",
  ollama: "sim-chat",
  anthropic: "claude-opus-4-6",
  gemini: "gemini-2.5-flash",
  openai: "gpt-5",
};

/** A piece of a document as a search finds it. */
export function passage(text: string, change: Partial<Passage> = {}): Passage {
  return {
    vectorStoreId: "vs_1",
    fileId: "file-1",
    filename: "handbook.pdf",
    attributes: {},
    page: 1,
    sheet: null,
    heading: null,
    text,
    score: 0.8,
    ...change,
  };
}

/** Answers as assistants without HTTP: the limits, the journal and the database are the real ones. */
export class AssistantStage {
  readonly simulator: TestSimulator;
  readonly gateway: Gateway & { readonly assistants: AssistantServices };
  readonly limits: Limits;
  readonly model: string;
  readonly #known: AssistantIndex;
  readonly #close: () => Promise<void>;
  readonly #read: (id: string) => Promise<readonly Record<string, string | number>[]>;
  /** What is found, whatever the question is. */
  found: readonly Passage[] = [];
  /** Replaces the search. */
  searchBy: ((question: Question) => Promise<readonly Passage[]>) | undefined;
  readonly questions: Question[] = [];
  tools: readonly Tool[] = [];
  /** What the caller's key has become meanwhile. */
  currentCaller: AssistantServices["currentCaller"] = (caller) => caller;
  settings: Partial<AssistantServices["settings"]> = {};
  client = new AbortController();
  calls = 0;

  private constructor(parts: StageParts) {
    this.simulator = parts.simulator;
    this.limits = parts.limits;
    this.model = parts.model;
    this.#known = new AssistantIndex();
    this.#close = parts.close;
    this.#read = parts.read;
    const search = async (question: Question) => {
      this.questions.push(question);
      return this.searchBy?.(question) ?? this.found.slice(0, question.limit);
    };
    const stage = this;
    const settings: AssistantServices["settings"] = {
      ASSISTANT_MAX_TURNS: 10,
      ASSISTANT_MAX_TOOL_CALLS: 64,
      TOOL_TIMEOUT_MS: 60_000,
      TOOL_RESULT_MAX_BYTES: 65_536,
      RAG_TOP_K: 8,
      RAG_MIN_SIMILARITY: 0.35,
      RAG_GROUNDING_MODE: "prefer",
    };
    this.gateway = {
      ...parts.gateway,
      assistants: {
        known: this.#known,
        currentCaller: (caller) => this.currentCaller(caller),
        search,
        checkStores: async () => undefined,
        tools: createToolRegistry({ search, settings }, [{ list: () => this.tools }]),
        countToolCall: () => undefined,
        get settings() {
          return { ...settings, ...stage.settings };
        },
        log: silentLog,
      },
    };
  }

  /** @param redisUrl counts the limits there; undefined: in memory. */
  static async open(vendor: Vendor = "vllm", redisUrl?: string): Promise<AssistantStage> {
    const engine = vendor;
    const [simulator, database] = await Promise.all([
      startSimulator({ engine }),
      openTestDatabase(),
    ]);
    const model = MODELS[vendor];
    const models = createModelCatalog({
      backends: [backendOf(vendor, simulator, model)],
      defaultModel: model,
      log: silentLog,
      clock: systemClock,
    });
    await models.refresh();
    const counting = {
      database,
      clock: systemClock,
      log: silentLog,
      callTimeoutMs: 600_000,
      waitMs: 10_000,
      observer: { onMonthUse: () => undefined, onMonthlyRefusal: () => undefined },
    };
    const limits =
      redisUrl === undefined
        ? await openMemoryLimits({ ...counting, monotonic: () => performance.now() })
        : await openRedisLimits({ ...counting, url: redisUrl, installation: randomBase62(8) });
    limits.start(Promise.resolve());
    const folder = journalRoot();
    const journal = await openTestJournal(folder.root, database);
    return new AssistantStage({
      simulator,
      limits,
      model,
      gateway: { models, journal, limits, clock: systemClock, defaultMaxOutputTokens: 2_000 },
      async read(id) {
        await journal.flush();
        return database.db.execute<Record<string, string | number>>(
          sql`select model, outcome, status, input_tokens::int, output_tokens::int, estimated, assistant_id, tool_name
              from usage_records where id = ${id}`,
        );
      },
      async close() {
        await journal.drain(5_000);
        await Promise.all([simulator.stop(), limits.close()]);
        await database.close();
        folder.remove();
      },
    });
  }

  /** Forgets the last call; to be called before each test. */
  reset(): void {
    this.simulator.reset();
    this.calls += 1;
    this.client = new AbortController();
    this.found = [];
    this.searchBy = undefined;
    this.questions.length = 0;
    this.tools = [];
    this.currentCaller = (caller) => caller;
    this.settings = {};
  }

  /** The one assistant, called `helper`. */
  assistant(change: Partial<Assistant> = {}): Assistant {
    const assistant = testAssistant(1, {
      name: "helper",
      ownerId: "usr_1",
      instructions: "Be brief.",
      tools: ["*"],
      maxLevel: "full_auto",
      ...change,
    });
    this.#known.set(assistant);
    return assistant;
  }

  get requestId(): string {
    return `req_assistant_${this.calls}`;
  }

  get keyId(): string {
    return `key_${this.calls}`;
  }

  /** Starts a call as `helper`, by a key of its owner. */
  ask(request: Partial<ChatRequest> = {}, key: Partial<Extract<Caller, { kind: "key" }>> = {}) {
    const caller: Caller = {
      kind: "key",
      keyId: this.keyId,
      ownerId: "usr_1",
      role: "user",
      assistantId: null,
      passthrough: false,
      maxLevel: "full_auto",
      toolScope: { tools: ["*"], sql_connections: ["*"] },
      limits: { ...UNLIMITED, tokens: 1_000_000 },
      isRestricted: true,
      ...key,
    };
    const client = {
      requestId: this.requestId,
      caller,
      channel: "chat" as const,
      startedAt: systemClock.now(),
      signal: this.client.signal,
    };
    return answerChat(this.gateway, client, {
      model: "helper",
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "How long is the warranty of the machine that we bought?" },
          ],
        },
      ],
      tools: [],
      stream: true,
      parameters: {},
      ...request,
    });
  }

  /** All events of a call. */
  async answer(...given: Parameters<AssistantStage["ask"]>): Promise<ChatEvent[]> {
    const events: ChatEvent[] = [];
    for await (const batch of await (await this.ask(...given)).events) events.push(...batch);
    return events;
  }

  /** The bodies of the model calls so far. */
  // biome-ignore lint/suspicious/noExplicitAny: bodies of several formats are looked into by tests.
  bodies(): readonly any[] {
    return this.simulator
      .ledger()
      .filter(({ path }) =>
        /completions$|\/chat$|\/messages$|enerateContent|\/responses$/.test(path),
      )
      .map(({ body }) => JSON.parse(body ?? "null"));
  }

  /** The one row of the call; undefined when it has none. */
  async row(): Promise<Record<string, string | number> | undefined> {
    const rows = await this.#read(this.requestId);
    if (rows.length > 1) throw new Error(`the call has ${rows.length} rows`);
    return rows[0];
  }

  /** What the key has used and holds. */
  async use() {
    const all = { ...UNLIMITED, tokens: 1e9, requests: 1e9 };
    const { tokens, requests } = await this.limits.read(this.keyId, all, systemClock.now());
    return { tokens: tokens?.used, reserved: tokens?.reserved, requests: requests?.used };
  }

  close(): Promise<void> {
    return this.#close();
  }
}

interface StageParts {
  readonly simulator: TestSimulator;
  readonly limits: Limits;
  readonly model: string;
  readonly gateway: Gateway;
  readonly read: (id: string) => Promise<readonly Record<string, string | number>[]>;
  readonly close: () => Promise<void>;
}

function backendOf(vendor: Vendor, { url }: TestSimulator, model: string): Backend {
  const cloud = (path: string, headers: Readonly<Record<string, string>> = {}) => ({
    upstream: { ...upstreamAt(url + path), headers },
    models: [model],
    forward: [],
    memory: createReplayMemory(systemClock),
  });
  switch (vendor) {
    case "vllm":
      return createVllm(upstreamAt(url));
    case "ollama":
      return createOllama(upstreamAt(url), 32_768);
    case "anthropic":
      return createAnthropic(cloud("", { "x-api-key": "any" }));
    case "gemini":
      return createGoogle(cloud("/v1beta", { "x-goog-api-key": "any" }));
    case "openai":
      return createOpenai(cloud("/v1", { authorization: "Bearer any" }));
  }
}

/** A tool that only reads and does what the test says. */
export function testTool(name: string, run: Tool["run"], change: Partial<Tool> = {}): Tool {
  return {
    name,
    description: `Does ${name}.`,
    level: "read_only",
    parameters: { type: "object", properties: { of: { type: "string" } } },
    run,
    ...change,
  };
}
