import { expect, it } from "vitest";
import type { JsonObject } from "../../../../src/lib/json/json.ts";
import { readResult as readAnyResult } from "../../../../src/tools/servers/clean/read-result.ts";

const readWhole = (result: JsonObject, maxBytes = 65_536) =>
  readAnyResult(result, maxBytes, JSON.stringify({ result }));
const contentOf = (result: JsonObject, maxBytes?: number) => readWhole(result, maxBytes).content;
const readResult = (result: JsonObject, maxBytes?: number) => {
  const { content: _content, ...read } = readWhole(result, maxBytes);
  return read;
};
/** Reads a result with this JSON as its structured content. */
const readStructured = (json: string, maxBytes = 65_536) => {
  const message = `{"jsonrpc":"2.0","id":1,"result":{"structuredContent":${json}}}`;
  return readAnyResult(JSON.parse(message).result, maxBytes, message);
};
const data = Buffer.alloc(12_345).toString("base64");

it.each<[what: string, result: JsonObject, text: string]>([
  ["texts", { content: [text("a"), text("b")] }, "a\nb"],
  ["no part", { content: [] }, ""],
  [
    "an image",
    { content: [text("see"), { type: "image", mimeType: "image/png", data }] },
    "see\n[image image/png, 12 kB: not shown]",
  ],
  [
    "a sound",
    { content: [{ type: "audio", mimeType: "audio/\u001b[1mwav\n", data: "AAAA" }] },
    "[audio audio/wav, 3 bytes: not shown]",
  ],
  [
    "an image of nothing",
    { content: [{ type: "image" }] },
    "[image of unknown type, 0 bytes: not shown]",
  ],
  [
    "a resource with text",
    { content: [{ type: "resource", resource: { uri: "file:///a", text: "b\r\nc" } }] },
    "[resource file:///a]\nb\nc",
  ],
  [
    "a resource of bytes",
    { content: [{ type: "resource", resource: { uri: "u:a", mimeType: "a/b", blob: data } }] },
    "[resource u:a a/b, 12 kB: not shown]",
  ],
  [
    "a link",
    { content: [{ type: "resource_link", name: "Report", uri: "u:r", description: "All" }] },
    "[link Report: u:r, All]",
  ],
  [
    "unknown parts",
    { content: [{ type: "hologram" }, 7, null] },
    "[hologram: not shown]\n[unknown content: not shown]\n[unknown content: not shown]",
  ],
  ["values without text", { content: [], structuredContent: { a: [1] } }, '{"a":[1]}'],
  ["values alone", { structuredContent: [1] }, "[1]"],
  ["values beside a text", { content: [text("one")], structuredContent: { a: 1 } }, "one"],
  ["a deceiving text", { content: [text("\u001b[2Ja\u202eb\u0007\tc")] }, "ab\tc"],
])("A result of %s is a text", (_what, result, expected) => {
  expect(readResult(result)).toEqual({ text: expected });
});

it("A result keeps that it is an error, and only the word of the protocol is one", () => {
  expect(readResult({ content: [text("no")], isError: true })).toEqual({
    text: "no",
    isError: true,
  });
  expect(readResult({ content: [], isError: "yes" })).toEqual({ text: "" });
});

it("No more of a result is cleaned than can be of use, and its note names the size of the whole", () => {
  const long = readResult({ content: [text("é".repeat(50_000))] }, 1_000);
  expect(Buffer.byteLength(long.text)).toBeLessThanOrEqual(1_000);
  expect(long.text).toMatch(/^é+\n\[The result was cut: it has 100000 bytes\.\]$/);
  const unclean = readResult({ content: [text("\u0007".repeat(4_000)), text("end")] }, 1_000);
  expect(unclean.text).toBe("\n[The result was cut: it has 4004 bytes.]");
  // Whoever runs the tool cuts what is a little longer, after it was cleaned.
  expect(readResult({ content: [text("a".repeat(4_000))] }, 1_000).text).toHaveLength(4_000);
});

it("A result of very many parts is cut before each is looked at, and says how many it has", () => {
  const many = readWhole({ content: Array.from({ length: 2_000_000 }, () => 0) });
  const parts = many.content?.parts ?? [];
  expect(parts).toHaveLength(1_001);
  expect(parts.at(-1)).toEqual(text("[The result was cut: it has 2000000 parts.]"));
  expect(many.text.endsWith("it has 2000000 parts.]")).toBe(true);
});

it("A result keeps its parts for clients of the protocol: media as they are, texts cleaned", () => {
  const media: JsonObject[] = [
    { type: "image", mimeType: "image/png", data },
    { type: "audio", mimeType: "audio/wav", data: "AAAA" },
    { type: "resource_link", uri: "u:r", name: "Report", description: "All", size: 7 },
    { type: "resource", resource: { uri: "u:a", mimeType: "a/b", blob: data } },
    { type: "resource", resource: { uri: "u:b", text: "c" } },
  ];
  expect(contentOf({ content: media })).toEqual({ parts: media });
  expect(contentOf({ content: [text("\u001b[2Ja"), { type: "hologram" }] })?.parts).toEqual([
    text("a"),
    text("[hologram: not shown]"),
  ]);
  const broken: JsonObject[] = [
    { type: "image", mimeType: "image/png", data: "no base64!" },
    { type: "audio", mimeType: "a\nb", data: "AAAA" },
    { type: "resource_link", uri: 7, name: "Report" },
    { type: "resource", resource: { uri: "u:a" } },
  ];
  const types = contentOf({ content: broken })?.parts.map((part) => part["type"]);
  expect(types).toEqual(["text", "text", "text", "text"]);
});

it("The texts of a result's parts are cut at the bytes of a result in all", () => {
  const parts = [
    text("a".repeat(90)),
    { type: "image", mimeType: "image/png", data },
    text("b".repeat(90)),
  ];
  const [first, image, last] = contentOf({ content: parts }, 150)?.parts ?? [];
  expect(first).toEqual(parts[0]);
  expect(image).toEqual(parts[1]);
  expect(last?.["text"]).toMatch(/^b+\n\[The result was cut: it has 90 bytes\.\]$/);
});

it("Structured content is kept, also as a text where there is none, unless it is too long", () => {
  const structuredContent = { a: [1, { b: "\u001b" }] };
  expect(contentOf({ content: [text("one")], structuredContent })).toEqual({
    parts: [text("one")],
    structured: structuredContent,
  });
  expect(contentOf({ structuredContent })?.parts).toEqual([
    text(JSON.stringify(structuredContent)),
  ]);
  expect(contentOf({ content: [], structuredContent: "x".repeat(100) }, 50)).toEqual({
    parts: [
      text(expect.stringMatching(/102 bytes: left out.* exceeds TOOL_RESULT_MAX_BYTES, 50\./)),
    ],
    isStructuredLeftOut: true,
  });
});

it.each([
  ['{"id":1234567890123456789}', '{"id":1234567890123456789}'],
  [
    '{ "a": [ -9007199254740993, 1.50 ],\n"\\u00e9 b": "\\u00e9\\n1 2" }',
    '{"a":[-9007199254740993,1.50],"é b":"é\\n1 2"}',
  ],
  ["[1e400]", "[1e400]"],
])("Structured content keeps all digits of its numbers: %s", (json, exact) => {
  const { text: shown, content } = readStructured(json);
  expect(shown).toBe(exact);
  expect(content).toEqual({
    parts: [text(exact)],
    structured: JSON.parse(json),
    structuredText: exact,
  });
});

it("Structured content that is far too long keeps its digits, as much as is shown of it", () => {
  const json = `[1234567890123456789,${" ".repeat(5_000)}1]`;
  const { text: shown, content } = readStructured(json, 1_000);
  expect(shown).toMatch(/^\[1234567890123456789,/);
  expect(content?.structured).toBeUndefined();
});

it("A tool that asks for further input has failed, with a text for the model", () => {
  const result = readResult({ resultType: "input_required", requestState: "a" });
  expect(result.isError).toBe(true);
  expect(result.text).toContain("Give all it needs in its arguments.");
});

it.each([{}, { content: "text" }, { content: {} }, { content: [], resultType: "task" }])(
  "What is no result is a failure of the tool server: %j",
  (result) => {
    expect(() => readResult(result)).toThrow("has no content");
  },
);

function text(text: string): JsonObject {
  return { type: "text", text };
}
