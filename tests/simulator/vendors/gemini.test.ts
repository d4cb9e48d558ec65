import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type JsonReply, postJson } from "../../support/clients/post-json.ts";
import { eventValues, pathDifference } from "../../support/faults/key-paths.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";
import { readSharedFixtures } from "../../support/shared-fixtures.ts";
import { readSharedSchemas, shapeFaults } from "../../support/shared-spec.ts";

const KEY = "AIza-real-key-0123456789";

let simulator: TestSimulator;

beforeAll(async () => {
  simulator = await startSimulator({ engine: "gemini", apiKey: KEY });
});
afterEach(() => simulator.reset());
afterAll(() => simulator.stop());

const hello = { contents: [{ role: "user", parts: [{ text: "Say: Hi there" }] }] };
const tools = [
  {
    functionDeclarations: [
      {
        name: "get_weather",
        description: "Weather of a city",
        parametersJsonSchema: { type: "object", properties: { city: { type: "string" } } },
      },
    ],
  },
];
const asksTwo = {
  contents: [{ role: "user", parts: [{ text: "the weather of Oslo and Paris" }] }],
  tools,
};

const cached = { inputTokens: 9, outputTokens: 9 };

interface Part {
  readonly text?: string;
  readonly thought?: boolean;
  readonly thoughtSignature?: string;
  readonly functionCall?: { readonly name: string; readonly args: object };
}
interface Chunk {
  readonly candidates?: readonly {
    readonly content: { readonly role: string; readonly parts?: readonly Part[] };
    readonly finishReason?: string;
  }[];
  readonly usageMetadata?: Readonly<Record<string, number>>;
  readonly promptFeedback?: { readonly blockReason: string };
}

function call(model: string, verb: string, body: unknown): Promise<JsonReply> {
  const url = `${simulator.url}/v1beta/models/${model}:${verb}`;
  return postJson(url, body, { "x-goog-api-key": KEY });
}

async function whole(body: unknown, model = "gemini-2.5-flash"): Promise<Chunk> {
  return (await call(model, "generateContent", body)).body as Chunk;
}

async function chunks(body: unknown, model = "gemini-2.5-flash"): Promise<Chunk[]> {
  return eventValues((await call(model, "streamGenerateContent?alt=sse", body)).text) as Chunk[];
}

const partsOf = (all: readonly Chunk[]) =>
  all.flatMap(({ candidates }) => candidates?.[0]?.content.parts ?? []);
const textOf = (all: readonly Chunk[]) =>
  partsOf(all)
    .filter(({ thought }) => !thought)
    .map(({ text = "" }) => text)
    .join("");

describe("the simulator as Gemini", () => {
  it("says the same whole, as events that end in CRLF, and as one array", async () => {
    const answer = await whole(hello);
    expect(answer.candidates?.[0]).toMatchObject({ finishReason: "STOP" });
    expect(textOf([answer])).toBe("Hi there");
    const { headers, text } = await call(
      "gemini-2.5-flash",
      "streamGenerateContent?alt=sse",
      hello,
    );
    expect(headers.get("content-type")).toBe("text/event-stream");
    expect(text.replaceAll("\r\n\r\n", "")).not.toContain("\n");
    expect(text).not.toContain("[DONE]");
    const streamed = eventValues(text) as Chunk[];
    expect(textOf(streamed)).toBe("Hi there");
    expect(streamed.at(-1)?.usageMetadata).toEqual(answer.usageMetadata);
    const array = await call("gemini-2.5-flash", "streamGenerateContent", hello);
    expect(array.headers.get("content-type")).toContain("application/json");
    expect(textOf(array.body as Chunk[])).toBe("Hi there");
  });

  it("tells the figures so far in every chunk, what was thought beside what was said", async () => {
    const streamed = await chunks({ contents: [{ parts: [{ text: "count to 9" }] }] });
    const totals = streamed.map(({ usageMetadata }) => usageMetadata?.["totalTokenCount"] ?? 0);
    expect(totals).toEqual([...totals].sort((one, other) => one - other));
    const last = streamed.at(-1)?.usageMetadata ?? {};
    const { promptTokenCount = 0, candidatesTokenCount = 0, thoughtsTokenCount = 0 } = last;
    expect(thoughtsTokenCount).toBeGreaterThan(10);
    expect(last["totalTokenCount"]).toBe(
      promptTokenCount + candidatesTokenCount + thoughtsTokenCount,
    );
    expect(simulator.ledger()[0]?.told).toMatchObject({
      inputTokens: promptTokenCount,
      outputTokens: candidatesTokenCount + thoughtsTokenCount,
      reasoningTokens: thoughtsTokenCount,
    });
  });

  it("shows thoughts only where they are asked for, and thinks not at all with a budget of 0", async () => {
    const asking = (thinkingConfig: object) => ({ ...hello, generationConfig: { thinkingConfig } });
    const shown = await chunks(asking({ includeThoughts: true }));
    const thoughts = partsOf(shown).filter(({ thought }) => thought);
    expect(thoughts.map(({ text }) => text).join("")).toContain("The user asks");
    expect(partsOf(await chunks(hello)).some(({ thought }) => thought)).toBe(false);
    const off = await whole(asking({ thinkingBudget: 0 }));
    expect(off.usageMetadata).not.toHaveProperty("thoughtsTokenCount");
  });

  it("calls functions whole, the first of them sealed, and stops with STOP", async () => {
    for (const all of [
      await chunks(asksTwo, "gemini-3-pro"),
      [await whole(asksTwo, "gemini-3-pro")],
    ]) {
      const calls = partsOf(all).filter(({ functionCall }) => functionCall);
      expect(calls).toEqual([
        {
          functionCall: { name: "get_weather", args: { city: "Oslo" } },
          thoughtSignature: expect.any(String),
        },
        { functionCall: { name: "get_weather", args: { city: "Paris" } } },
      ]);
      expect(all.at(-1)?.candidates?.[0]?.finishReason).toBe("STOP");
    }
  });

  it("goes on with the calls it sealed, or with the dummy for calls made elsewhere", async () => {
    const made = partsOf([await whole(asksTwo, "gemini-3-pro")]);
    const responses = ["Rain", "Sun"].map((result) => ({
      functionResponse: { name: "get_weather", response: { result } },
    }));
    const dummy = made.map(({ functionCall }) => ({
      functionCall,
      thoughtSignature: "skip_thought_signature_validator",
    }));
    for (const parts of [made, dummy]) {
      const contents = [
        ...asksTwo.contents,
        { role: "model", parts },
        { role: "user", parts: responses },
      ];
      const answer = await whole({ contents, tools }, "gemini-3-pro");
      expect(textOf([answer])).toContain("The tool answered: “Sun”");
    }
  });

  it("takes fields in snake case as well", async () => {
    const answer = await whole({
      contents: [
        {
          parts: [
            { text: "What is in it?" },
            { inline_data: { mime_type: "image/png", data: "QUJD" } },
          ],
        },
      ],
      system_instruction: { parts: [{ text: "Be brief." }] },
      generation_config: { max_output_tokens: 900, thinking_config: { thinking_budget: 0 } },
    });
    expect(textOf([answer])).toContain("I also received 1 image.");
  });

  it("says nothing when the limit falls while it thinks, and the end of the text when sealed", async () => {
    const cut = await whole({ ...hello, generationConfig: { maxOutputTokens: 3 } });
    expect(cut.candidates).toEqual([
      { content: { role: "model" }, finishReason: "MAX_TOKENS", index: 0 },
    ]);
    const [last] = partsOf(await chunks(hello, "gemini-3-pro")).slice(-1);
    expect(last).toEqual({ text: "", thoughtSignature: expect.any(String) });
  });

  it("blocks a prompt without a candidate, and an answer in the middle", async () => {
    simulator.script(
      { blocked: "prompt", times: 2 },
      { text: "Half", blocked: "answer", times: 2 },
    );
    for (const all of [[await whole(hello)], await chunks(hello)]) {
      expect(all).toEqual([
        expect.objectContaining({ promptFeedback: { blockReason: "PROHIBITED_CONTENT" } }),
      ]);
      expect(all[0]).not.toHaveProperty("candidates");
    }
    for (const all of [[await whole(hello)], await chunks(hello)]) {
      expect(textOf(all)).toBe("Half");
      expect(all.at(-1)?.candidates?.[0]?.finishReason).toBe("SAFETY");
    }
  });

  it("fails before the stream and in its midst, and tells no figures when told to", async () => {
    simulator.script({ error: { at: 0 } }, { error: { at: 1 } }, { usage: null });
    expect(await call("gemini-2.5-flash", "generateContent", hello)).toMatchObject({
      status: 503,
      body: { error: { code: 503, status: "UNAVAILABLE" } },
    });
    const failed = await chunks(hello);
    expect(failed.at(-1)).toMatchObject({ error: { status: "UNAVAILABLE" } });
    expect(failed).toHaveLength(2);
    expect(JSON.stringify(await chunks(hello))).not.toContain("usageMetadata");
  });

  it("keeps the address's question and the headers in the ledger, and scripts find its models", async () => {
    simulator.script({ match: { model: "gemini-3-pro" }, text: "for three" });
    expect(textOf(await chunks(hello))).toBe("Hi there");
    expect(textOf(await chunks(hello, "gemini-3-pro"))).toBe("for three");
    expect(simulator.ledger()[1]).toMatchObject({ model: "gemini-3-pro", query: "alt=sse" });
    expect(simulator.ledger()[1]?.headers).toContainEqual(["x-goog-api-key", KEY]);
  });

  it("counts tokens and lists its models", async () => {
    const { body } = await call("gemini-2.5-flash", "countTokens", hello);
    const { usageMetadata } = await whole(hello);
    expect(body).toMatchObject({ totalTokens: usageMetadata?.["promptTokenCount"] });
    const get = (path: string) =>
      fetch(`${simulator.url}/v1beta/${path}`, { headers: { "x-goog-api-key": KEY } });
    const { models } = (await (await get("models")).json()) as { models: { name: string }[] };
    expect(models.map(({ name }) => name)).toContain("models/gemini-3-pro");
    expect((await get("models/gemini-3-pro")).status).toBe(200);
  });
});

describe("the simulator beside Gemini's published definition", () => {
  it("says nothing that is not in it", async () => {
    const schemas = readSharedSchemas("gemini-v1beta.subset.json");
    if (!schemas) return;
    simulator.script({ match: { body: "blocked" }, blocked: "prompt" });
    simulator.script({ match: { body: "cached" }, usage: { ...cached, cachedTokens: 8 } });
    const bodies = ["Say: Hi", "the weather of Oslo and Paris", "blocked", "cached"].map(
      (text) => ({
        contents: [{ parts: [{ text }] }],
        tools,
        generationConfig: { thinkingConfig: { includeThoughts: true } },
      }),
    );
    const answers = await Promise.all(
      bodies.flatMap(async (body) => [await whole(body), ...(await chunks(body, "gemini-3-pro"))]),
    );
    const response = { $ref: "#/components/schemas/GenerateContentResponse" };
    expect(answers.flat().length).toBeGreaterThan(50);
    expect(answers.flat().flatMap((answer) => shapeFaults(answer, response, schemas))).toEqual([]);
    const { body } = await call("gemini-3-pro", "countTokens", hello);
    const count = { $ref: "#/components/schemas/CountTokensResponse" };
    expect(shapeFaults(body, count, schemas)).toEqual([]);
  });
});

describe("the simulator beside what Gemini was recorded to say", () => {
  it.each([
    ["google-text", hello],
    ["google-reasoning", hello],
    ["google-tool-call", { ...asksTwo, contents: [{ parts: [{ text: "the weather in Oslo" }] }] }],
  ])("its chunks have the keys of %s", async (name, body) => {
    const fixtures = readSharedFixtures(["google"], ".sse").filter((fixture) =>
      fixture.name.includes(name),
    );
    for (const { bytes } of fixtures) {
      const theirs = eventValues(Buffer.from(bytes).toString());
      const { onlyOurs, onlyTheirs } = pathDifference(await chunks(body, "gemini-3-pro"), theirs);
      const isArgument = (path: string) => path.includes(".args.");
      expect(onlyOurs.filter((path) => !isArgument(path))).toEqual([]);
      expect(onlyTheirs.filter((path) => !isArgument(path))).toEqual([]);
    }
  });
});
