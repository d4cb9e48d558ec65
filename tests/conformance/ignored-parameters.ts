import { describe, expect, it } from "vitest";
import { BACKENDS, type Backend } from "./backends.ts";
import type { Stage } from "./stage.ts";

type Body = Readonly<Record<string, unknown>>;
type KeyName = keyof Stage["keys"];

/** Parameters that are sent together. Whether the model is told one of them may depend on the others. */
interface Combination {
  readonly title: string;
  readonly model: "model" | "thinker";
  readonly key: KeyName;
  /** As the header would name them. */
  readonly names: readonly string[];
  /** The fields of the body that set those which it is to have; a required one has another value without. */
  readonly body: (has: (name: string) => boolean) => Body;
}

interface FamilyCalls {
  readonly name: "chat" | "messages" | "responses";
  readonly path: string;
  readonly conversation: (text: string) => Body;
  readonly combinations: readonly Combination[];
  /** What has no effect on any backend, and how it is named. */
  readonly unread: { readonly body: Body; readonly names: readonly string[] };
  /** The first event of a stream, as the object that has `ext`. */
  readonly firstOf: (events: readonly Body[]) => unknown;
}

const SCHEMA = { type: "object", properties: { a: { type: "string" } }, required: ["a"] };
const FUNCTION = { name: "look", description: "Looks.", parameters: SCHEMA };

/** Fields that stand in the body by their own names. */
function plain(
  title: string,
  fields: Body,
  more: Partial<Pick<Combination, "model" | "key">> = {},
): Combination {
  return {
    title,
    model: "model",
    key: "plain",
    ...more,
    names: Object.keys(fields),
    body: (has) => Object.fromEntries(Object.entries(fields).filter(([name]) => has(name))),
  };
}

const CHAT_TOOLS = {
  tools: [{ type: "function", function: FUNCTION }],
  tool_choice: "required",
  parallel_tool_calls: false,
  reasoning_effort: "low",
};
const EFFORTS = ["none", "low", "medium", "high", "max"] as const;

const chat: FamilyCalls = {
  name: "chat",
  path: "/v1/chat/completions",
  conversation: (text) => ({ messages: [{ role: "user", content: text }] }),
  combinations: [
    plain("what stands in the table and what does not", {
      temperature: 0.5,
      top_p: 0.9,
      top_k: 40,
      max_completion_tokens: 77,
      stop: ["END"],
      seed: 7,
      presence_penalty: 0.1,
      frequency_penalty: 0.1,
      response_format: { type: "json_schema", json_schema: { name: "s", schema: SCHEMA } },
      logprobs: true,
      top_logprobs: 2,
      logit_bias: { 5: -100 },
      user: "someone",
    }),
    plain("top_p alone", { top_p: 0.9 }),
    plain(
      "sampling while the model thinks",
      { temperature: 0.5, top_p: 0.9, top_k: 40, reasoning_effort: "high", max_tokens: 3_000 },
      { model: "thinker" },
    ),
    ...EFFORTS.map((effort) =>
      plain(`effort ${effort}`, { reasoning_effort: effort }, { model: "thinker" }),
    ),
    plain("tools of a plain key", CHAT_TOOLS, { model: "thinker" }),
    plain("tools of a passthrough key", CHAT_TOOLS, { model: "thinker", key: "passthrough" }),
    plain("what harms others of a local engine", { priority: 1, num_ctx: 8, cache_salt: "x" }),
  ],
  unread: {
    body: {
      tools: [{ type: "web_search" }],
      tool_choice: { type: "custom", custom: { name: "x" } },
    },
    names: ["tool_choice", "tools[web_search]"],
  },
  firstOf: ([first]) => first,
};

const MESSAGES_FORMAT = { format: { type: "json_schema", schema: SCHEMA } };
const SERIAL = "tool_choice.disable_parallel_tool_use";

const messages: FamilyCalls = {
  name: "messages",
  path: "/v1/messages",
  conversation: (text) => ({ max_tokens: 1_500, messages: [{ role: "user", content: text }] }),
  combinations: [
    {
      title: "what stands in the table and what does not",
      model: "model",
      key: "plain",
      names: [
        "max_tokens",
        "temperature",
        "top_p",
        "top_k",
        "stop_sequences",
        "output_config.format",
      ],
      body: (has) => ({
        max_tokens: has("max_tokens") ? 77 : 1_500,
        ...(has("temperature") && { temperature: 0.5 }),
        ...(has("top_p") && { top_p: 0.9 }),
        ...(has("top_k") && { top_k: 40 }),
        ...(has("stop_sequences") && { stop_sequences: ["END"] }),
        ...(has("output_config.format") && { output_config: MESSAGES_FORMAT }),
      }),
    },
    {
      title: "thinking and tools",
      model: "thinker",
      key: "plain",
      names: ["max_tokens", "tools", "tool_choice", SERIAL, "thinking"],
      body: (has) => ({
        max_tokens: has("max_tokens") ? 77 : 1_500,
        ...(has("tools") && { tools: [{ name: "look", input_schema: SCHEMA }] }),
        ...((has("tool_choice") || has(SERIAL)) && {
          tool_choice: {
            type: has("tool_choice") ? "any" : "auto",
            ...(has(SERIAL) && { disable_parallel_tool_use: true }),
          },
        }),
        ...(has("thinking") && { thinking: { type: "adaptive" } }),
      }),
    },
  ],
  unread: {
    body: {
      mcp_servers: [{ type: "url", url: "https://tools.example", name: "x" }],
      container: "container_1",
      context_management: null,
      metadata: { user_id: "someone" },
      tools: [{ type: "web_search_20250305", name: "web_search" }],
    },
    names: ["container", "mcp_servers", "metadata", "tools[web_search_20250305]"],
  },
  firstOf: ([first]) => first?.["message"],
};

const RESPONSES_TOOLS = { tools: [{ type: "function", ...FUNCTION }], tool_choice: "required" };

const responses: FamilyCalls = {
  name: "responses",
  path: "/v1/responses",
  conversation: (text) => ({ input: text }),
  combinations: [
    {
      title: "what stands in the table and what does not",
      model: "model",
      key: "plain",
      names: [
        "max_output_tokens",
        "temperature",
        "top_p",
        "top_k",
        "stop",
        "seed",
        "presence_penalty",
        "prompt_cache_key",
        "text.format",
      ],
      body: (has) => ({
        ...(has("max_output_tokens") && { max_output_tokens: 77 }),
        ...(has("temperature") && { temperature: 0.5 }),
        ...(has("top_p") && { top_p: 0.9 }),
        ...(has("top_k") && { top_k: 40 }),
        ...(has("stop") && { stop: ["END"] }),
        ...(has("seed") && { seed: 7 }),
        ...(has("presence_penalty") && { presence_penalty: 0.1 }),
        ...(has("prompt_cache_key") && { prompt_cache_key: "a" }),
        ...(has("text.format") && { text: { format: { type: "json_object" } } }),
      }),
    },
    {
      title: "effort and tools",
      model: "thinker",
      key: "passthrough",
      names: ["tools", "tool_choice", "reasoning.effort"],
      body: (has) => ({
        ...(has("tools") && { tools: RESPONSES_TOOLS.tools }),
        ...(has("tool_choice") && { tool_choice: RESPONSES_TOOLS.tool_choice }),
        ...(has("reasoning.effort") && { reasoning: { effort: "high" } }),
      }),
    },
  ],
  unread: {
    body: {
      input: [
        { type: "compaction", encrypted_content: "x" },
        { type: "additional_tools", tools: [] },
        { role: "user", content: "Speak." },
      ],
      include: ["web_search_call.action.sources"],
      max_tool_calls: 3,
      truncation: "auto",
      tools: [{ type: "image_generation" }],
    },
    names: [
      "include[web_search_call.action.sources]",
      "input[additional_tools]",
      "input[compaction]",
      "max_tool_calls",
      "tools[image_generation]",
      "truncation",
    ],
  },
  firstOf: ([first]) => first?.["response"],
};

interface Asked {
  readonly ignored: readonly string[];
  readonly isAnswer: boolean;
  readonly body: Body;
  /** What reached the vendor, without the marker of the call. */
  readonly sent: string;
}

let asked = 0;

/** Asks one question and tells what the answer says was ignored, and what reached the vendor. */
async function ask(stage: Stage, call: Call, fields: Body): Promise<Asked> {
  const { family, backend, key } = call;
  asked += 1;
  const marker = `asked-${String(asked).padStart(6, "0")}`;
  const model = backend[call.model ?? "model"];
  const response = await post(stage, call, {
    model,
    ...family.conversation(`Speak. ${marker}`),
    ...fields,
  });
  const [entry] = stage
    .simulatorOf(backend.name)
    .ledger()
    .filter(({ method, body }) => method === "POST" && body?.includes(marker))
    .slice(-1);
  if (entry?.body === undefined) throw new Error(`nothing reached ${backend.name} for ${key}`);
  return {
    ignored: namesIn(response),
    isAnswer: response.ok,
    body: (await response.json()) as Body,
    sent: entry.body.replaceAll(marker, ""),
  };
}

interface Call {
  readonly family: FamilyCalls;
  readonly backend: Backend;
  readonly key: KeyName;
  readonly model?: Combination["model"];
}

function post(stage: Stage, { family, backend, key }: Call, body: Body): Promise<Response> {
  return fetch(stage.urlOf(backend.name) + family.path, {
    method: "POST",
    headers: { authorization: `Bearer ${stage.keys[key]}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

function namesIn({ headers }: Response): readonly string[] {
  return (headers.get("x-ignored-parameters") ?? "").split(", ").filter((name) => name !== "");
}

function ignoredIn(value: unknown): unknown {
  return (value as { ext?: { ignored?: unknown } } | undefined)?.ext?.ignored;
}

async function eventsOf(response: Response): Promise<Body[]> {
  const frames = (await response.text()).split("\n\n");
  return frames.flatMap((frame) => {
    const data = /^data: (\{.*\})$/m.exec(frame)?.[1];
    return data === undefined ? [] : [JSON.parse(data) as Body];
  });
}

function backendOf(name: Backend["name"]): Backend {
  const found = BACKENDS.find((backend) => backend.name === name);
  if (found === undefined) throw new Error(`there is no ${name}`);
  return found;
}

/** Asks with all parameters, and once without each of them: one that makes no difference to the vendor was ignored. */
async function expectTrueNames(stage: Stage, call: Call & Combination): Promise<void> {
  const whole = await ask(
    stage,
    call,
    call.body(() => true),
  );
  const expected: string[] = [];
  for (const name of call.names) {
    const fields = call.body((other) => other !== name);
    const { sent } = await ask(stage, call, fields);
    if (sent === whole.sent) expected.push(name);
  }
  expect(whole.ignored).toEqual(expected.sort());
  if (whole.isAnswer) {
    expect(ignoredIn(whole.body)).toEqual(expected.length === 0 ? undefined : expected);
  }
}

/** What answers say was ignored, against what the vendors saw. */
export function describeIgnoredParameters(stageOf: () => Stage): void {
  describe("4.3 and 4.4: what is ignored is named", () => {
    for (const family of [chat, messages, responses]) {
      for (const backend of BACKENDS) {
        it.each(family.combinations)(`${family.name} on ${backend.name}: $title`, (combination) =>
          expectTrueNames(stageOf(), { family, backend, ...combination }),
        );
      }
    }

    it.each([chat, messages, responses])(
      "$name: what the family itself does not read is named too",
      async (family) => {
        const { body, names } = family.unread;
        const call: Call = { family, backend: backendOf("vllm"), key: "plain" };
        const conversation = family.conversation("Speak.");
        const response = await post(stageOf(), call, {
          model: call.backend.model,
          ...conversation,
          ...body,
        });
        expect([response.status, namesIn(response)]).toEqual([200, names]);
      },
    );

    it.each([chat, messages, responses])(
      "$name: a stream names it in its header and in its first event",
      async (family) => {
        const backend = backendOf("google");
        const call: Call = { family, backend, key: "plain" };
        const [{ body } = { body: () => ({}) }] = family.combinations;
        const whole = await ask(
          stageOf(),
          call,
          body(() => true),
        );
        expect(whole.ignored.length).toBeGreaterThan(0);
        const response = await post(stageOf(), call, {
          model: backend.model,
          ...family.conversation("Speak."),
          ...body(() => true),
          stream: true,
        });
        expect(namesIn(response)).toEqual(whole.ignored);
        expect(ignoredIn(family.firstOf(await eventsOf(response)))).toEqual(whole.ignored);
      },
    );

    it("with fallbacks it is what the model that answered was not told", async () => {
      const stage = stageOf();
      const [failing, answering] = [backendOf("google"), backendOf("compatible")];
      const marker = "the first of them fails";
      stage.script("google", marker, { times: "always", respond: { status: 500, body: {} } });
      const response = await post(
        stage,
        { family: chat, backend: failing, key: "plain" },
        {
          model: failing.model,
          ...chat.conversation(marker),
          max_tokens: 77,
          top_k: 3,
          ext: { fallbacks: [answering.model] },
        },
      );
      const body = (await response.json()) as Body;
      expect([body["model"], namesIn(response)]).toEqual([answering.model, ["top_k"]]);
      expect(ignoredIn(body)).toEqual(["top_k"]);
    });

    it("a name that no header can carry is told in part, and whole in the body", async () => {
      const call: Call = { family: chat, backend: backendOf("openai"), key: "plain" };
      const response = await post(stageOf(), call, {
        model: call.backend.model,
        ...chat.conversation("Speak."),
        "größe,\r\nx-evil: 1": 1,
        ["n".repeat(500)]: 1,
      });
      expect(namesIn(response)).toEqual(["gr??e???x-evil:?1", "n".repeat(64)]);
      const [name] = ignoredIn(await response.json()) as string[];
      expect(name).toBe("größe,\r\nx-evil: 1");
      expect(response.headers.has("x-evil")).toBe(false);
    });

    it("responses repeat nothing that was ignored", async () => {
      const backend = backendOf("openai");
      const call: Call = { family: responses, backend, key: "plain", model: "thinker" };
      const { body } = await ask(stageOf(), call, {
        ...RESPONSES_TOOLS,
        text: { format: { type: "json_object" }, verbosity: "low" },
        temperature: 0.2,
        top_p: 0.3,
        presence_penalty: 1,
        frequency_penalty: 1,
        top_logprobs: 3,
        max_tool_calls: 2,
        truncation: "auto",
        parallel_tool_calls: false,
        user: "someone",
        safety_identifier: "someone",
        prompt_cache_key: "a",
        metadata: { mine: "yes" },
        reasoning: { effort: "low" },
        max_output_tokens: 500,
      });
      expect(body).toMatchObject({
        tools: [],
        tool_choice: "auto",
        text: { format: { type: "text" } },
        temperature: 1,
        top_p: 1,
        presence_penalty: 0,
        frequency_penalty: 0,
        top_logprobs: 0,
        max_tool_calls: null,
        truncation: "disabled",
        parallel_tool_calls: true,
        safety_identifier: null,
        prompt_cache_key: null,
        metadata: { mine: "yes" },
        reasoning: { effort: "low" },
        max_output_tokens: 500,
      });
      expect(body["text"]).not.toHaveProperty("verbosity");
      expect(body).not.toHaveProperty("user");
    });
  });
}
