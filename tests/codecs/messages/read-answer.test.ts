import { describe, expect, it } from "vitest";
import { readContextOverflow } from "../../../src/codecs/messages/client/vendor-errors.ts";
import { messagesClient } from "../../../src/codecs/messages/client.ts";
import { checkEventOrder } from "../../support/check-event-order.ts";
import { addUp } from "../../support/clients/client-streams.ts";
import { readSharedFixtures } from "../../support/shared-fixtures.ts";

const ANSWER = `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[
  {"type":"thinking","thinking":"Hm.","signature":"c2ln"},
  {"type":"redacted_thinking","data":"c2VjcmV0"},
  {"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"q":1}},
  {"type":"text","text":"One","citations":null},
  {"type":"text","text":" moment"},
  {"type":"tool_use","id":"toolu_1","name":"f","input":{"n":9007199254740993,"s":"}\\""}},
  {"type":"tool_use","id":"toolu_2","name":"g","input":{}}],
  "stop_reason":"tool_use","stop_sequence":null,
  "usage":{"input_tokens":9,"cache_read_input_tokens":1,"output_tokens":3}}`;

const decoder = new TextDecoder();

function read(text: string) {
  const events = messagesClient.readAnswer(text);
  checkEventOrder(events);
  return events;
}

describe("a whole answer", () => {
  it("is read block by block, its numbers whole", () => {
    const events = read(ANSWER);
    expect(addUp(events)).toEqual({
      text: "One moment",
      reasoning: "Hm.",
      seals: ["c2ln", "c2VjcmV0"],
      calls: [
        {
          id: "toolu_1",
          name: "f",
          signature: undefined,
          arguments: '{"n":9007199254740993,"s":"}\\""}',
        },
        { id: "toolu_2", name: "g", signature: undefined, arguments: "{}" },
      ],
      end: "tool-calls",
    });
    expect(events.filter(({ type }) => type === "block-start")).toHaveLength(4);
    expect(events.at(-1)).toMatchObject({
      usage: { inputTokens: 10, outputTokens: 3, cachedTokens: 1 },
    });
  });

  it.each(
    readSharedFixtures(["anthropic"], ".json").filter(
      ({ name }) => /response\.json$|\.1\.json$/.test(name) && !/_error/.test(name),
    ),
  )("that was recorded is read: $name", ({ bytes }) => {
    const text = decoder.decode(bytes);
    const { content, usage } = JSON.parse(text);
    const said = (type: string, field: string) =>
      content.map((block: Record<string, unknown>) => (block["type"] === type ? block[field] : ""));
    const events = read(text);
    const { calls, ...answer } = addUp(events);
    expect(answer).toMatchObject({
      text: said("text", "text").join(""),
      reasoning: said("thinking", "thinking").join(""),
    });
    expect(calls.map(({ id }) => id)).toEqual(said("tool_use", "id").filter(Boolean));
    expect(events.at(-1)).toMatchObject({
      type: "finish",
      usage: { inputTokens: usage.input_tokens, outputTokens: usage.output_tokens },
    });
  });

  it("may be empty", () => {
    expect(read('{"type":"message","content":[],"stop_reason":"end_turn"}')).toMatchObject([
      { type: "start" },
      { type: "finish", reason: "stop", usage: undefined },
    ]);
  });

  it.each(["", "<html>", "[]", "{}", '{"content":"Hi"}'])("is not %j", (text) => {
    expect(() => messagesClient.readAnswer(text)).toThrow(
      expect.objectContaining({ code: "upstream_error" }),
    );
  });

  it("that is an error is thrown as one", () => {
    const body = '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}';
    expect(() => messagesClient.readAnswer(body)).toThrow(
      expect.objectContaining({ code: "overloaded", upstreamStatus: 529 }),
    );
  });
});

describe("the body of a refusal", () => {
  it.each(
    readSharedFixtures(["anthropic"], "response.json").filter(({ name }) => /_error/.test(name)),
  )("that was recorded says why: $name", ({ bytes }) => {
    const body = decoder.decode(bytes);
    expect(messagesClient.readErrorMessage(body)).toBe(JSON.parse(body).error.message);
  });

  it("says why, without addresses", () => {
    const body =
      '{"type":"error","error":{"type":"api_error","message":"Ask http://10.1.1.1:80."}}';
    expect(messagesClient.readErrorMessage(body)).toMatch(/^Ask \[address\]/);
  });

  it.each([
    "",
    "<html>",
    "null",
    "[]",
    "{}",
    '{"error":{"message":""}}',
    '{"error":{"message":7}}',
  ])("says nothing in %j", (body) => {
    expect(messagesClient.readErrorMessage(body)).toBeUndefined();
  });
});

describe("the vendor's words for a call that does not fit", () => {
  it.each([
    ["prompt is too long: 210000 tokens > 200000 maximum", 210_000, 200_000],
    [
      "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again",
      188_240,
      200_000,
    ],
    [
      "max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens for m",
      0,
      64_000,
    ],
  ])("are understood: %s", (message, promptTokens, contextLength) => {
    expect(readContextOverflow(message)).toEqual({ promptTokens, contextLength });
  });

  it("are not found in others", () => {
    expect(readContextOverflow("max_tokens: Field required")).toBeUndefined();
  });
});
