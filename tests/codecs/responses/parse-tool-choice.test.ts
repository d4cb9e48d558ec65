import { expect, test } from "vitest";
import { parseToolChoice } from "../../../src/codecs/responses/server/parse/parse-tool-choice.ts";
import type { OfferedTool } from "../../../src/codecs/responses/server/parse/parse-tools.ts";

function offer(name: string, namespace?: string, isCustom = false): OfferedTool {
  const offered = namespace === undefined ? name : `${namespace}__${name}`;
  return { definition: { name: offered }, tool: { name, namespace, isCustom } };
}

const OFFERED = [
  offer("read"),
  offer("read", "disk"),
  offer("write", "disk"),
  offer("patch", undefined, true),
];

function allowedNames(...tools: object[]): string[] {
  const choice = { type: "allowed_tools", mode: "auto", tools };
  return parseToolChoice(choice, OFFERED).tools.map(({ name }) => name);
}

test.each([
  [{ type: "function", name: "read" }, ["read", "disk__read"]],
  [{ type: "function", name: "read", namespace: null }, ["read", "disk__read"]],
  [{ type: "function", name: "read", namespace: "disk" }, ["disk__read"]],
  [{ type: "function", name: "read", namespace: "net" }, []],
  [{ type: "namespace", name: "disk" }, ["disk__read", "disk__write"]],
  [{ type: "custom", name: "patch" }, ["patch"]],
  [{ type: "function", name: "patch" }, []],
  [{ type: "function" }, []],
])("%j allows %j", (tool, names) => {
  expect(allowedNames(tool)).toEqual(names);
});

test("many tools of which many are allowed are told apart in no time", () => {
  const offered = Array.from({ length: 45_000 }, (_, index) => offer(`tool_${index}`));
  const tools = offered.map(() => ({ type: "function", name: "another" }));
  const startedAt = performance.now();
  const choice = parseToolChoice({ type: "allowed_tools", tools }, offered);
  expect(performance.now() - startedAt).toBeLessThan(10_000);
  expect(choice.tools).toEqual([]);
});
