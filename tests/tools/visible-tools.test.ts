import { describe, expect, it } from "vitest";
import { createToolRegistry } from "../../src/tools/registry.ts";
import type { Tool } from "../../src/tools/tool.ts";
import { visibleTools } from "../../src/tools/visible-tools.ts";
import { testTool } from "../support/stages/assistant-stage.ts";
import { keyCaller, sessionCaller, testAssistant } from "../support/stages/assistants.ts";

const settings = { RAG_TOP_K: 8, RAG_MIN_SIMILARITY: 0.35 };
const search = async () => [];
const of = (name: string, level: Tool["level"], change: Partial<Tool> = {}) =>
  testTool(name, async () => ({ text: "" }), { level, ...change });
const tools = [
  of("mcp_crm_find", "read_only", { source: "mcp" }),
  of("mcp_crm_save", "write", { source: "mcp" }),
  of("execute_shell", "full_auto"),
  of("away", "read_only", { isAvailable: () => false }),
  // A tool server cannot take the place of a built-in tool.
  of("search_knowledge", "full_auto", { source: "mcp" }),
];
const registry = createToolRegistry({ search, settings }, [{ list: () => tools }]);
const names = (
  ...given: Parameters<typeof visibleTools> extends [unknown, ...infer Rest] ? Rest : never
) => visibleTools(registry, ...given).map(({ name }) => name);
const everything = testAssistant(1, {
  tools: ["*"],
  maxLevel: "full_auto",
  vectorStoreIds: ["vs_1"],
});
const key = keyCaller("usr_1");

describe("The visible tools", () => {
  it("are those that the assistant names and that are available", () => {
    const caller = { ...key, maxLevel: "full_auto" as const };
    expect(names(everything, caller)).toEqual([
      "execute_shell",
      "mcp_crm_find",
      "mcp_crm_save",
      "search_knowledge",
    ]);
    expect(names({ ...everything, tools: ["mcp_*"] }, caller)).toEqual([
      "mcp_crm_find",
      "mcp_crm_save",
    ]);
    expect(names({ ...everything, vectorStoreIds: [] }, caller)).not.toContain("search_knowledge");
    expect(names({ ...everything, tools: [] }, caller)).toEqual([]);
  });

  it("are within the key's scope, and above neither level", () => {
    expect(names(everything, key)).toEqual(["mcp_crm_find", "search_knowledge"]);
    const scope = { tools: ["mcp_crm_save", "mcp_crm_find"], sql_connections: [] };
    const writing = { ...key, maxLevel: "full_auto" as const, toolScope: scope };
    expect(names({ ...everything, maxLevel: "read_only" }, writing)).toEqual(["mcp_crm_find"]);
    expect(
      names(everything, { ...writing, toolScope: { tools: [], sql_connections: [] } }),
    ).toEqual([]);
  });

  it("are bounded for a session by the assistant, and by `write` for a user", () => {
    expect(names(everything, sessionCaller("usr_1"))).not.toContain("execute_shell");
    expect(names(everything, sessionCaller("usr_1"))).toContain("mcp_crm_save");
    expect(names(everything, sessionCaller("usr_1", "admin"))).toContain("execute_shell");
  });
});
