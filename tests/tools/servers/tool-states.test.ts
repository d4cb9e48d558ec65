import { describe, expect, it } from "vitest";
import { mergeList } from "../../../src/tools/servers/changes/merge-list.ts";
import type { ListedTool } from "../../../src/tools/servers/client/tool-server-client.ts";
import { levelByAnnotations } from "../../../src/tools/servers/tool-level.ts";
import {
  definitionOf,
  readDefinition,
  revisionOf,
  type ServerRow,
  stateOf,
  type ToolRow,
} from "../../../src/tools/servers/tool-server.ts";

const listed = (name: string, more: Partial<ListedTool> = {}): ListedTool => ({
  ...{ name, description: `Does ${name}.`, inputSchema: { type: "object" }, annotations: {} },
  ...more,
});
const row = (name: string, more: Partial<ToolRow> = {}): ToolRow => {
  const definition = definitionOf(listed(name));
  return {
    serverId: "mcps_1",
    name,
    level: null,
    approved: definition,
    listed: definition,
    ...more,
  };
};

describe("the level of a tool of a tool server", () => {
  it.each([
    [{ readOnlyHint: true }, "read_only"],
    [{ readOnlyHint: true, destructiveHint: true }, "read_only"],
    [{ destructiveHint: false }, "write"],
    [{ readOnlyHint: false, destructiveHint: false }, "write"],
    [{ destructiveHint: true }, "full_auto"],
    [{ readOnlyHint: false }, "full_auto"],
    [{}, "full_auto"],
  ] as const)("with the annotations %j is %s", (annotations, level) => {
    expect(levelByAnnotations(annotations)).toBe(level);
  });
});

describe("a tool of a tool server", () => {
  it("waits until it is approved, and is approved only as it was", () => {
    const approved = definitionOf(listed("a"));
    expect(stateOf({ approved: null, listed: approved })).toBe("waiting");
    expect(stateOf({ approved, listed: { ...approved } })).toBe("approved");
    expect(stateOf({ approved, listed: null })).toBe("gone");
    expect(stateOf({ approved: null, listed: null })).toBe("gone");
    const others: Partial<ListedTool>[] = [
      { description: "Does a. " },
      { inputSchema: { type: "object", properties: {} } },
      { annotations: { readOnlyHint: true } },
      { annotations: { destructiveHint: false } },
    ];
    for (const other of others) {
      expect(stateOf({ approved, listed: definitionOf(listed("a", other)) })).toBe("changed");
    }
  });

  it("is shown with objects for properties, and stays approved", () => {
    const definition = definitionOf(
      listed("a", {
        inputSchema: { type: "object", properties: { value: true } },
        outputSchema: { type: "object", properties: { value: true } },
      }),
    );
    const { inputSchema, outputSchema } = readDefinition(definition);
    for (const schema of [inputSchema, outputSchema]) {
      expect(schema).toEqual({ type: "object", properties: { value: {} } });
    }
    expect(stateOf({ approved: definition, listed: definition })).toBe("approved");
  });

  it("is the same whatever the order of its keys", () => {
    const schema = { type: "object", properties: { a: { type: "string" }, b: {} } };
    const turned = { properties: { b: {}, a: { type: "string" } }, type: "object" };
    const approved = definitionOf(listed("a", { inputSchema: schema }));
    expect(stateOf({ approved, listed: definitionOf(listed("a", { inputSchema: turned })) })).toBe(
      "approved",
    );
  });
});

describe("a list of tools beside the stored ones", () => {
  it("changes nothing when it is equal, in whatever order", () => {
    expect(mergeList([row("a"), row("b")], [listed("b"), listed("a")])).toBeUndefined();
    expect(mergeList([], [])).toBeUndefined();
    expect(mergeList([row("gone", { listed: null })], [])).toBeUndefined();
    const odd = listed("a", { inputSchema: Object.assign(Object.create(null), { minimum: -0 }) });
    expect(mergeList([row("a", { listed: definitionOf(odd) })], [odd])).toBeUndefined();
  });

  it("brings new, changed and returned tools, and takes away those it has no longer", () => {
    const changed = listed("changed", { description: "Does something else." });
    const stored = [
      row("same"),
      row("changed"),
      row("returned", { listed: null }),
      row("lost"),
      row("never approved", { approved: null }),
      row("with a level", { approved: null, level: "full_auto" }),
      row("gone with a level", { approved: null, level: "full_auto", listed: null }),
      row("gone without", { approved: null, listed: null }),
    ];
    const changes = mergeList(stored, [listed("same"), changed, listed("returned"), listed("new")]);
    expect(changes).toEqual({
      listed: [changed, listed("returned"), listed("new")].map((tool) => ({
        name: tool.name,
        listed: definitionOf(tool),
      })),
      gone: ["lost", "with a level"],
      forgotten: ["never approved", "gone without"],
    });
  });
});

describe("the revision of a list", () => {
  const at = (url: string) => ({ url }) as ServerRow;
  it("stands for the listed tools of one address, and not for what is approved of them", () => {
    const revision = revisionOf(at("http://a"), [row("a"), row("b")]);
    expect(revisionOf(at("http://a"), [row("b", { approved: null }), row("a")])).toBe(revision);
    const others = [
      revisionOf(at("http://b"), [row("a"), row("b")]),
      revisionOf(at("http://a"), [row("a")]),
      revisionOf(at("http://a"), [row("a"), row("b", { listed: { name: "b" } })]),
    ];
    for (const other of others) expect(other).not.toBe(revision);
  });
});
