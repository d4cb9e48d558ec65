import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ToolLevel } from "../../src/knowledge/assistants/assistant.ts";
import { testTool } from "../support/stages/assistant-stage.ts";
import { type BoundKey, type Json, McpStage } from "../support/stages/tools/mcp-stage.ts";

const LEVELS: readonly ToolLevel[] = ["read_only", "write", "full_auto"];
const TOOLS: readonly (readonly [string, ToolLevel])[] = [
  ["find_files", "read_only"],
  ["mcp_crm_find", "read_only"],
  ["mcp_crm_save", "write"],
  ["mcp_shop_order", "write"],
  ["mcp_crm_wipe", "full_auto"],
  ["execute_shell", "full_auto"],
];
const SCOPES: readonly (readonly string[])[] = [
  ["*"],
  ["mcp_crm_*"],
  ["find_files", "mcp_shop_order", "execute_shell", "no_such_tool"],
  [],
];
/** Twelve shapes of a key: each level with each scope. */
const SHAPES = LEVELS.flatMap((level) => SCOPES.map((scope) => ({ level, scope })));

type Shape = (typeof SHAPES)[number];

function expected(shape: Shape, assistantLevel: ToolLevel): string[] {
  const most = Math.min(LEVELS.indexOf(shape.level), LEVELS.indexOf(assistantLevel));
  const isScoped = (name: string) =>
    shape.scope.some((one) =>
      one.endsWith("*") ? name.startsWith(one.slice(0, -1)) : one === name,
    );
  return TOOLS.filter(([name, level]) => isScoped(name) && LEVELS.indexOf(level) <= most)
    .map(([name]) => name)
    .sort();
}

describe("M04: the tools of a key", () => {
  let stage: McpStage;
  let assistantId: string;
  const keys = new Map<Shape, BoundKey>();
  const ran: string[] = [];

  beforeAll(async () => {
    stage = await McpStage.open();
    for (const [name, level] of TOOLS) {
      const run = async () => {
        ran.push(name);
        return { text: "done" };
      };
      stage.tools.push(testTool(name, run, { level }));
    }
    assistantId = await stage.createAssistant();
    for (const shape of SHAPES) {
      const tool_scope = { tools: shape.scope, sql_connections: [] };
      keys.set(shape, await stage.bindKey({ max_level: shape.level, tool_scope }, assistantId));
    }
  });
  afterAll(() => stage?.close());

  const secretOf = (shape: Shape) => keys.get(shape)?.key ?? "";
  const setLevel = (max_level: ToolLevel) =>
    stage.manage("POST", `/v1/assistants/${assistantId}`, { ext: { max_level } });

  async function chat(key: string): Promise<Json> {
    const response = await fetch(`${stage.served.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ messages: [{ role: "user", content: "Hello" }] }),
    });
    expect(response.status).toBe(200);
    return (await response.json()) as Json;
  }

  /** The names of the tools that the model was offered in each of its calls. */
  function offered(): string[][] {
    return stage.simulator
      .ledger()
      .filter(({ path }) => path.endsWith("/completions"))
      .map(({ body }) => JSON.parse(body ?? "null"))
      .map(({ tools = [] }) =>
        tools.map((tool: { function: { name: string } }) => tool.function.name).sort(),
      );
  }

  async function listedByResource(key: string): Promise<string[]> {
    const response = await fetch(`${stage.served.url}/v1/tools`, {
      headers: { authorization: `Bearer ${key}` },
    });
    const { data } = (await response.json()) as { data: { function: { name: string } }[] };
    return data.map((tool) => tool.function.name);
  }

  async function listedByProtocol(key: string): Promise<string[]> {
    const { body } = await stage.ask(key, "tools/list");
    return body.result.tools.map(({ name }: { name: string }) => name);
  }

  describe.each(LEVELS)("with an assistant of the level %s", (assistantLevel) => {
    // The level acts at the next call: nothing waits here.
    beforeAll(() => setLevel(assistantLevel));

    it.each(SHAPES)("and a key of $level for $scope are one list everywhere", async (shape) => {
      const key = secretOf(shape);
      const names = expected(shape, assistantLevel);
      stage.simulator.reset();
      stage.simulator.script({ text: "Hello." });
      await chat(key);
      expect(offered()).toEqual([names]);
      expect(await listedByResource(key)).toEqual(names);
      expect(await listedByProtocol(key)).toEqual(names);
    });

    it.each(SHAPES)("and a key of $level for $scope: no other runs", async (shape) => {
      const key = secretOf(shape);
      const names = expected(shape, assistantLevel);
      const others = TOOLS.map(([name]) => name).filter((name) => !names.includes(name));
      ran.length = 0;
      for (const name of [...others, "no_such_tool"]) {
        const { body } = await stage.call(key, name);
        expect([name, body.error?.code]).toEqual([name, -32602]);
        expect(body.error.message).toContain(`Unknown tool: '${name}'`);
      }
      // A model that calls what it was not offered.
      stage.simulator.reset();
      stage.simulator.script(
        {
          toolCalls: others.map((name) => ({ name, arguments: {} })),
          finishReason: "tool_calls",
        },
        { text: "Never mind." },
      );
      if (others.length > 0) await chat(key);
      expect(ran).toEqual([]);
      for (const name of names)
        expect((await stage.call(key, name)).body.result.isError).toBe(false);
      expect(ran).toEqual(names);
    });
  });

  it("is shorter at the very next call once a key's or an assistant's level is lowered", async () => {
    await setLevel("full_auto");
    const bound = await stage.bindKey({}, assistantId);
    const isRun = async () => "result" in (await stage.call(bound.key, "mcp_crm_save")).body;
    expect(await isRun()).toBe(true);
    await stage.manage("PATCH", `/v1/api-keys/${bound.id}`, { max_level: "read_only" });
    expect(await isRun()).toBe(false);
    await stage.manage("PATCH", `/v1/api-keys/${bound.id}`, { max_level: "write" });
    expect(await isRun()).toBe(true);
    await setLevel("read_only");
    expect(await isRun()).toBe(false);
    expect(await listedByProtocol(bound.key)).toEqual(["find_files", "mcp_crm_find"]);
  });

  it.each([
    { what: "its level is lowered", change: { max_level: "read_only" } },
    {
      what: "it loses the tool",
      change: { tool_scope: { tools: ["find_files"], sql_connections: [] } },
    },
    { what: "it is disabled", change: { state: "inactive" } },
    { what: "it is deleted", change: undefined },
  ])("is shorter in an answer that a key has under way once $what", async ({ change }) => {
    await setLevel("full_auto");
    const bound = await stage.bindKey({}, assistantId);
    const path = `/v1/api-keys/${bound.id}`;
    const name = `change_${Object.keys(change ?? { deleted: 1 })}`;
    const run = async () => {
      await (change === undefined
        ? stage.manage("DELETE", path)
        : stage.manage("PATCH", path, change));
      return { text: "done" };
    };
    stage.tools.push(testTool(name, run));
    stage.simulator.reset();
    const script = (called: string) => ({
      toolCalls: [{ name: called, arguments: {} }],
      finishReason: "tool_calls" as const,
    });
    stage.simulator.script(script("mcp_crm_save"), script(name), script("mcp_crm_save"), {
      text: "Done.",
    });
    ran.length = 0;
    await chat(bound.key);
    stage.tools.pop();
    expect(ran).toEqual(["mcp_crm_save"]);
    const last = stage.simulator.ledger().at(-1)?.body ?? "";
    expect(last).toContain("Tool 'mcp_crm_save' is no longer allowed.");
  });
});
