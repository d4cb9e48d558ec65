import { describe, expect, it } from "vitest";
import { createListMyConnections } from "../../../src/tools/builtin/list-my-connections.ts";
import type {
  SavedConnection,
  SavedConnections,
} from "../../../src/tools/connections/connection.ts";
import { usableConnections } from "../../../src/tools/connections/usable-connections.ts";
import type { ToolContext } from "../../../src/tools/tool.ts";

const connection = (name: string, description: string | null = null): SavedConnection => ({
  ...{ id: `conn_${name}`, name, kind: "postgres", host: "secret.host.test", port: 5432 },
  ...{ database: "d", user: "secret user", tls: "verify", file: null, description },
  createdAt: new Date(0),
});
const all = [connection("CRM", "Customers."), connection("crm_old"), connection("sales")];
const described: string[] = [];
const saved: SavedConnections = {
  list: () => all,
  find: (name) => all.find((one) => one.name === name),
  read: () => Promise.reject(new Error("not asked for")),
  async describe({ name }) {
    described.push(name);
    if (name === "sales") return [];
    return [
      {
        name: "orders",
        columns: [
          { name: "id", type: "integer" },
          { name: "any", type: "" },
        ],
      },
    ];
  },
};
const tool = createListMyConnections(saved);

function contextOf(sqlConnections: readonly string[], scope?: readonly string[]): ToolContext {
  const caller =
    scope === undefined
      ? { kind: "session" }
      : { kind: "key", toolScope: { tools: ["*"], sql_connections: scope } };
  const signal = new AbortController().signal;
  return { caller, assistant: { sqlConnections }, signal } as unknown as ToolContext;
}
const names = ({ assistant, caller }: ToolContext) =>
  usableConnections(saved, assistant, caller).map(({ name }) => name);

describe("the connections that a caller may use", () => {
  it.each([
    [["*"], undefined, ["CRM", "crm_old", "sales"]],
    [["crm*"], undefined, ["CRM", "crm_old"]],
    [["Crm", "Sales"], undefined, ["CRM", "sales"]],
    [[], undefined, []],
    [["*"], [], []],
    [["*"], ["*"], ["CRM", "crm_old", "sales"]],
    [["crm*"], ["CRM", "sales"], ["CRM"]],
    [["sales"], ["crm*"], []],
    [["gone"], ["*"], []],
  ])("for an assistant with %j and a key's scope of %j are %j", (own, scope, expected) => {
    expect(names(contextOf(own, scope))).toEqual(expected);
  });
});

describe("list_my_connections", () => {
  it("is there for assistants that name a connection", () => {
    expect(tool.isAvailable?.({ sqlConnections: ["crm"] } as never)).toBe(true);
    expect(tool.isAvailable?.({ sqlConnections: [] } as never)).toBe(false);
    expect(tool.level).toBe("read_only");
  });

  it("lists them with kind and description, and neither host nor user", async () => {
    const { text } = await tool.run({}, contextOf(["*"], ["*"]));
    expect(text).toBe("CRM (postgres): Customers.\ncrm_old (postgres)\nsales (postgres)");
    expect((await tool.run({}, contextOf(["gone"]))).text).toBe("There is no database here.");
  });

  it("shows the tables and columns of one, whatever the case of its name", async () => {
    const { text } = await tool.run({ name: "crm" }, contextOf(["*"]));
    expect(text).toBe("CRM (postgres): Customers.\norders(id integer, any)");
    const empty = await tool.run({ name: "sales" }, contextOf(["*"]));
    expect(empty.text).toBe("'sales' has no tables to read.");
  });

  it("does not tell a connection that may not be used from one that does not exist", async () => {
    described.length = 0;
    for (const name of ["sales", "nothing"]) {
      const running = tool.run({ name }, contextOf(["*"], ["crm"]));
      await expect(running).rejects.toMatchObject({
        code: "not_found",
        message: `There is no connection '${name}'. There is 'CRM'.`,
      });
    }
    expect(described).toEqual([]);
  });
});
