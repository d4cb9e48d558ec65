import { describe, expect, it } from "vitest";
import { responseEventSchema } from "../../../src/codecs/responses/server/wire-events.ts";
import { responseSchema } from "../../../src/codecs/responses/server/wire-response.ts";
import { responsesServer } from "../../../src/codecs/responses/server.ts";
import type { ChatEvent } from "../../../src/core/chat/chat-event.ts";
import { foldEvents } from "../../../src/core/chat/fold-events.ts";
import { readResponseEvents } from "./read-response-events.ts";

const CONTEXT = { requestId: "req_1", model: "llama", created: 1_760_000_000 };
const FOUND = [
  {
    index: 1,
    fileId: "file-a",
    filename: "travel.md",
    attributes: { year: 2026 },
    text: "Trains only.",
    score: 0.71,
  },
  {
    index: 2,
    fileId: "file-b",
    filename: "hotel.md",
    attributes: {},
    text: "Up to 120 EUR.",
    score: 0.6,
  },
];
const TEXT = "By train [1], and no more than 120 EUR [2][7].";
const EVENTS: readonly ChatEvent[] = [
  { type: "start", inputTokens: 9 },
  { type: "search", queries: ["How do I travel?"], found: FOUND },
  { type: "block-start", block: 0, kind: "text" },
  { type: "text-delta", block: 0, text: TEXT.slice(0, 11) },
  { type: "text-delta", block: 0, text: TEXT.slice(11) },
  { type: "block-end", block: 0 },
  { type: "finish", reason: "stop", usage: { inputTokens: 9, outputTokens: 3 } },
];
const SEARCH = { type: "file_search", vector_store_ids: ["vs_1", "vs_2"] };
const ANNOTATIONS = [
  { type: "file_citation", file_id: "file-a", filename: "travel.md", index: TEXT.indexOf("[1]") },
  { type: "file_citation", file_id: "file-b", filename: "hotel.md", index: TEXT.indexOf("[2]") },
];

function parse(tools: readonly object[], rest: object = {}) {
  return responsesServer.parse({ model: "llama", input: "How do I travel?", tools, ...rest }, "");
}

describe("A `file_search` tool", () => {
  it("is a search of the gateway, beside the client's other tools", () => {
    const filters = {
      type: "and",
      filters: [{ type: "gte", key: "year", value: 2025 }],
    };
    const tool = {
      ...SEARCH,
      max_num_results: 4,
      ranking_options: { ranker: "auto", score_threshold: 0.4 },
      filters,
    };
    const { request, names } = parse([tool, { type: "function", name: "f" }]);
    expect(request.fileSearch).toEqual({
      vectorStoreIds: ["vs_1", "vs_2"],
      limit: 4,
      minSimilarity: 0.4,
      filter: filters,
    });
    expect(request.tools.map(({ name }) => name)).toEqual(["f"]);
    expect(names.ignored).toEqual([]);
  });

  it("is repeated in the answer", () => {
    expect(parse([SEARCH]).form.repeated).toMatchObject({ tools: [{ ...SEARCH, filters: null }] });
  });

  it.each([
    ["without stores", { type: "file_search" }, "tools[0].vector_store_ids"],
    ["with an empty list", { ...SEARCH, vector_store_ids: [] }, "tools[0].vector_store_ids"],
    [
      "with an id that no vector store has",
      { ...SEARCH, vector_store_ids: ["vs_1", "vs_\0"] },
      "tools[0].vector_store_ids[1]",
    ],
    [
      "with a filter of 101 comparisons",
      {
        ...SEARCH,
        filters: { type: "or", filters: Array(101).fill({ type: "eq", key: "a", value: 1 }) },
      },
      "tools[0].filters",
    ],
    [
      "with NUL in a filter",
      { ...SEARCH, filters: { type: "eq", key: "a", value: "\0" } },
      "tools[0].filters.value",
    ],
    ["with too many results", { ...SEARCH, max_num_results: 51 }, "tools[0].max_num_results"],
    [
      "with a filter of an unknown type",
      { ...SEARCH, filters: { type: "like", key: "a", value: "b" } },
      "tools[0].filters.type",
    ],
    [
      "with a filter of many levels",
      {
        ...SEARCH,
        filters: Array.from({ length: 9 }).reduce<object>(
          (inner) => ({ type: "and", filters: [inner] }),
          { type: "eq", key: "a", value: 1 },
        ),
      },
      "tools[0].filters",
    ],
  ])("%s is refused by name", (_, tool, param) => {
    expect(() => parse([tool])).toThrow(expect.objectContaining({ code: "invalid_value", param }));
  });

  it("is refused a second time", () => {
    expect(() => parse([SEARCH, SEARCH])).toThrow(
      expect.objectContaining({ code: "invalid_value", param: "tools[1]" }),
    );
  });

  it("leaves the search of an earlier answer out of the conversation without a word", () => {
    const item = { type: "file_search_call", id: "fs_1", status: "completed", queries: ["a"] };
    const { request, names } = parse([SEARCH], {
      input: [item, { role: "user", content: "And now?" }],
    });
    expect(request.messages).toHaveLength(1);
    expect(names.ignored).toEqual([]);
  });
});

describe("The answer to a `file_search`", () => {
  it("begins with the search, and its text has the citations", async () => {
    async function* batches() {
      yield EVENTS;
    }
    const { form } = parse([SEARCH]);
    const body = JSON.parse(
      responsesServer.encodeAnswer(await foldEvents(batches()), CONTEXT, form),
    );
    expect(responseSchema.safeParse(body).error).toBeUndefined();
    expect(body.output).toMatchObject([
      {
        type: "file_search_call",
        status: "completed",
        queries: ["How do I travel?"],
        results: null,
      },
      { type: "message", content: [{ text: TEXT, annotations: ANNOTATIONS }] },
    ]);
    expect(new Set(body.output.map(({ id }: { id: string }) => id)).size).toBe(2);
  });

  it("has the passages for a client that asks for them", async () => {
    async function* batches() {
      yield EVENTS;
    }
    const { form, names } = parse([SEARCH], { include: ["file_search_call.results"] });
    const whole = await foldEvents(batches());
    const { output } = JSON.parse(responsesServer.encodeAnswer(whole, CONTEXT, form));
    expect(names.ignored).toEqual([]);
    expect(output[0].results).toEqual([
      {
        file_id: "file-a",
        filename: "travel.md",
        attributes: { year: 2026 },
        text: "Trains only.",
        score: 0.71,
      },
      expect.objectContaining({ file_id: "file-b" }),
    ]);
  });

  it("streams the same items and citations", () => {
    const { form } = parse([SEARCH]);
    const text = responsesServer.streamEncoder(CONTEXT, form).encode(EVENTS);
    const events = [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, json = ""]) =>
      JSON.parse(json),
    );
    for (const event of events) expect(responseEventSchema.safeParse(event).error).toBeUndefined();
    const types = events.map(({ type }) => type);
    expect(types.slice(0, 7)).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.file_search_call.in_progress",
      "response.file_search_call.searching",
      "response.file_search_call.completed",
      "response.output_item.done",
    ]);
    const added = events.filter(({ type }) => type === "response.output_text.annotation.added");
    expect(added.map(({ annotation }) => annotation)).toEqual(ANNOTATIONS);
    expect(added.map(({ annotation_index }) => annotation_index)).toEqual([0, 1]);
    expect(events.at(-1).response.output).toMatchObject([
      { type: "file_search_call" },
      { type: "message", content: [{ annotations: ANNOTATIONS }] },
    ]);
    expect(() => readResponseEvents(text)).not.toThrow();
  });
});
