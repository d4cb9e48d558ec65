import { describe, expect, it } from "vitest";
import { generateContentClient } from "../../../src/codecs/generate-content/client.ts";
import type {
  AssistantPart,
  ChatMessage,
  ChatRequest,
  GenerationParameters,
  TextPart,
  ToolMessage,
  UserPart,
} from "../../../src/core/chat/chat-request.ts";
import { readPieces } from "../../support/clients/client-streams.ts";
import { replayAnswer } from "../../support/replay-answer.ts";
import { readSharedFixtures } from "../../support/shared-fixtures.ts";

const text = (words: string): TextPart => ({ type: "text", text: words });
const user = (...content: readonly UserPart[]): ChatMessage => ({ role: "user", content });
const assistant = (...content: readonly AssistantPart[]): ChatMessage => ({
  role: "assistant",
  content,
});
const call = (callId: string, signature?: string): AssistantPart => ({
  type: "tool-call",
  callId,
  name: `name-of-${callId}`,
  arguments: "{}",
  signature,
});
const result = (callId: string, ...content: ToolMessage["content"]): ChatMessage => ({
  role: "tool",
  callId,
  content,
});

const HI: ChatRequest = {
  model: "alias",
  messages: [user(text("Hi"))],
  tools: [],
  parameters: {},
  stream: true,
};
const TOOL = { name: "f", description: "Does f.", parameters: { type: "object", $defs: {} } };

function buildText(changes: Partial<ChatRequest>, name = "gemini-3-pro-preview"): string {
  return generateContentClient.build({ ...HI, ...changes }, { name, contextLength: undefined });
}

const build = (changes: Partial<ChatRequest>, name?: string) =>
  JSON.parse(buildText(changes, name));
const contents = (...messages: readonly ChatMessage[]) => build({ messages }).contents;
const functionCall = (id: string) => ({ id, name: `name-of-${id}`, args: {} });
const response = (id: string, value: object) => ({
  functionResponse: { id, name: `name-of-${id}`, response: value },
});

describe("the body for the vendor", () => {
  it("says no more than the request does", () => {
    expect(build({})).toEqual({
      contents: [{ role: "user", parts: [{ text: "Hi" }] }],
      generationConfig: {},
    });
  });

  it("has every parameter under its name", () => {
    const parameters: GenerationParameters = {
      temperature: 0,
      topP: 0.5,
      topK: 7,
      maxOutputTokens: 9,
      stop: [..."abcdefg"],
      seed: 3,
      presencePenalty: 1,
      frequencyPenalty: -1,
    };
    expect(build({ parameters }).generationConfig).toEqual({
      temperature: 0,
      topP: 0.5,
      topK: 7,
      maxOutputTokens: 9,
      stopSequences: [..."abcde"],
      seed: 3,
      presencePenalty: 1,
      frequencyPenalty: -1,
    });
  });

  it("keeps further fields among the settings, where they win over nothing", () => {
    const thinkingConfig = { thinkingLevel: "LOW", includeThoughts: true };
    const parameters = { temperature: 0, extra: { thinkingConfig, temperature: 2 } };
    expect(build({ parameters }).generationConfig).toEqual({ thinkingConfig, temperature: 0 });
    expect(build({ parameters, omitsReasoning: true }).generationConfig).toEqual({
      thinkingConfig: { thinkingLevel: "LOW", includeThoughts: false },
      temperature: 0,
    });
    expect(build({ omitsReasoning: true }).generationConfig).toEqual({});
  });

  it("asks for a format", () => {
    const config = (responseFormat: GenerationParameters["responseFormat"]) =>
      build({ parameters: { responseFormat } }).generationConfig;
    const responseMimeType = "application/json";
    const schema = { type: "object" };
    expect(config({ type: "text" })).toEqual({});
    expect(config({ type: "json_object" })).toEqual({ responseMimeType });
    expect(config({ type: "json_schema", name: "n", schema })).toEqual({
      responseMimeType,
      responseJsonSchema: schema,
    });
  });
});

describe("tools", () => {
  it("are declared with their whole schema", () => {
    expect(build({ tools: [TOOL, { name: "g" }] }).tools).toEqual([
      {
        functionDeclarations: [
          { name: "f", description: "Does f.", parametersJsonSchema: TOOL.parameters },
          { name: "g", description: "" },
        ],
      },
    ]);
  });

  it.each([
    [{ type: "auto" }, { mode: "AUTO" }],
    [{ type: "none" }, { mode: "NONE" }],
    [{ type: "required" }, { mode: "ANY" }],
    [
      { type: "tool", name: "f" },
      { mode: "ANY", allowedFunctionNames: ["f"] },
    ],
  ] as const)("are chosen from as %j says", (toolChoice, functionCallingConfig) => {
    expect(build({ tools: [TOOL], toolChoice }).toolConfig).toEqual({ functionCallingConfig });
    expect(build({ toolChoice })).not.toHaveProperty("toolConfig");
  });
});

describe("the conversation", () => {
  it("has what the system says in a place of its own, and later as text", () => {
    const system = (words: string): ChatMessage => ({ role: "system", content: [text(words)] });
    const body = build({ messages: [system("A"), system("B"), user(text("Hi")), system("C")] });
    expect(body.systemInstruction).toEqual({ parts: [{ text: "A" }, { text: "B" }] });
    expect(body.contents[0].parts).toEqual([{ text: "Hi" }, { text: "<system>\nC\n</system>" }]);
  });

  it("is one of two who take turns, without thoughts", () => {
    expect(
      contents(
        user(text("a")),
        user(text("b")),
        assistant({ type: "reasoning", text: "Hm.", signature: "gemini.c2ln" }, text("c")),
        assistant({ type: "refusal", text: "d" }),
      ),
    ).toEqual([
      { role: "user", parts: [{ text: "a" }, { text: "b" }] },
      { role: "model", parts: [{ text: "c" }, { text: "d" }] },
    ]);
  });

  it("has pictures, documents and sound in it or by address", () => {
    const base64 = (mediaType: string) => ({ kind: "base64", mediaType, data: "QUJD" }) as const;
    const url = (address: string) => ({ kind: "url", url: address }) as const;
    const [turn] = contents(
      user(
        { type: "image", source: base64("image/png") },
        { type: "document", source: base64("application/pdf"), title: "t" },
        { type: "audio", data: "QUJD", format: "wav" },
        { type: "image", source: url("https://x.test/a.JPG?size=1") },
        { type: "image", source: url("https://x.test/a") },
      ),
    );
    expect(turn.parts).toEqual([
      { inlineData: { mimeType: "image/png", data: "QUJD" } },
      { inlineData: { mimeType: "application/pdf", data: "QUJD" } },
      { inlineData: { mimeType: "audio/wav", data: "QUJD" } },
      { fileData: { fileUri: "https://x.test/a.JPG?size=1", mimeType: "image/jpeg" } },
      { fileData: { fileUri: "https://x.test/a" } },
    ]);
  });
});

describe("calls and results", () => {
  it("are paired by id, the results in the order of the calls and pictures beside", () => {
    const [, , heard] = contents(
      user(text("Hi")),
      assistant(call("c1"), call("c2"), call("c3")),
      result("c3", text("a"), text("b")),
      {
        role: "tool",
        callId: "c1",
        isError: true,
        content: [
          text("Broken."),
          { type: "image", source: { kind: "base64", mediaType: "image/png", data: "QUJD" } },
        ],
      },
      user(text("And?")),
    );
    expect(heard).toEqual({
      role: "user",
      parts: [
        response("c1", { error: "Broken." }),
        response("c2", { error: "There is no result: the call was broken off." }),
        response("c3", { result: "a\nb" }),
        { inlineData: { mimeType: "image/png", data: "QUJD" } },
        { text: "And?" },
      ],
    });
  });

  it.each([
    ['{"n":12345678901234567890}', '{"n":12345678901234567890}'],
    ["", "{}"],
    ["[1]", '{"value":[1]}'],
    ['{"a":', '{"value":"{\\"a\\":"}'],
  ])("have an object for arguments: %s", (args, object) => {
    const part = { type: "tool-call", callId: "c1", name: "f", arguments: args } as const;
    const body = buildText({ messages: [user(text("Hi")), assistant(part)] });
    expect(body).toContain(`"args":${object}}`);
  });
});

describe("the seal on a call", () => {
  const modelParts = (model: string, ...parts: readonly AssistantPart[]) =>
    build({ messages: [user(text("Hi")), assistant(...parts)] }, model).contents[1].parts;
  const dummy = { thoughtSignature: "skip_thought_signature_validator" };

  it("goes back when it is the vendor's own, to every model", () => {
    for (const model of ["gemini-3-pro-preview", "gemini-2.5-flash"]) {
      expect(modelParts(model, call("c1", "gemini.c2ln"))).toEqual([
        { functionCall: functionCall("c1"), thoughtSignature: "c2ln" },
      ]);
    }
  });

  it.each(["gemini-3-pro-preview", "models/gemini-3-flash", "gemini-20-pro", "model-of-tomorrow"])(
    "is stood in for on the first call of a turn: %s",
    (model) => {
      const foreign = call("c1", "anthropics");
      expect(modelParts(model, text("Wait."), foreign, call("c2"), call("c3", "openai.x"))).toEqual(
        [
          { text: "Wait." },
          { functionCall: functionCall("c1"), ...dummy },
          { functionCall: functionCall("c2") },
          { functionCall: functionCall("c3") },
        ],
      );
    },
  );

  it.each(["gemini-2.0-flash", "gemini-2.5-pro", "models/gemini-2.5-pro", "gemini-1.5-pro"])(
    "is not needed by older models: %s",
    (model) => {
      expect(modelParts(model, call("c1"))).toEqual([{ functionCall: functionCall("c1") }]);
    },
  );
});

describe("a recorded conversation", () => {
  const folder = ["google/google_streaming_tool_call_thought_signature"];
  const answer = readSharedFixtures(folder, "00.response.sse")[0]?.bytes;
  const recorded = readSharedFixtures(folder, "01.request.json")[0]?.bytes;

  it.runIf(answer && recorded)(
    "goes on with the seal that the vendor put on its call",
    async () => {
      const { contents: expected } = JSON.parse(new TextDecoder().decode(recorded));
      const replayed = await replayAnswer(readPieces(generateContentClient, [answer!]));
      const callId = replayed.content.flatMap((part) =>
        part.type === "tool-call" ? part.callId : [],
      )[0]!;
      const [asked, , heard] = expected;
      const built = contents(
        user(text(asked.parts[0].text)),
        replayed,
        result(callId, text(heard.parts[0].functionResponse.response.return_value)),
      );
      const [{ functionCall: sent, thoughtSignature }] = expected[1].parts;
      // The client that was recorded writes base64 its own way, and makes up an id.
      const standard = thoughtSignature.replaceAll("-", "+").replaceAll("_", "/");
      expect(built).toEqual([
        asked,
        {
          role: "model",
          parts: [{ functionCall: { ...sent, id: callId }, thoughtSignature: standard }],
        },
        {
          role: "user",
          parts: [
            {
              functionResponse: { id: callId, name: sent.name, response: { result: "Mexico" } },
            },
          ],
        },
      ]);
    },
  );
});
