import { describe, expect, it } from "vitest";
import { ProtocolError } from "../../../src/codecs/mcp/protocol-error.ts";
import { readEra } from "../../../src/codecs/mcp/read-era.ts";

type Json = Readonly<Record<string, unknown>>;
type Headers_ = Readonly<Record<string, string>>;

const VERSION = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const CLIENT = "io.modelcontextprotocol/clientInfo";
const META = { [VERSION]: "2026-07-28", [CAPABILITIES]: {} };
const HEADERS = { "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call" };
const CALL = { ...HEADERS, "Mcp-Name": "find" };

function eraOf(method: string, params: unknown, headers: Headers_ = {}) {
  try {
    return readEra({ id: 1, method, params }, new Headers(headers));
  } catch (thrown) {
    if (!(thrown instanceof ProtocolError)) throw thrown;
    return [thrown.code, thrown.statusIn("modern")];
  }
}
const call = (meta: unknown, headers: Headers_ = CALL, more: Json = { name: "find" }) =>
  eraOf("tools/call", { ...more, _meta: meta }, headers);

describe("The era of a request of the protocol", () => {
  it("is the older one without a version, and with an older version", () => {
    expect(eraOf("initialize", { protocolVersion: "2025-06-18" })).toBe("legacy");
    expect(eraOf("tools/list", undefined)).toBe("legacy");
    expect(eraOf("tools/list", { _meta: { progressToken: 0 } })).toBe("legacy");
    for (const version of ["2025-03-26", "2025-06-18", "2025-11-25"]) {
      expect(eraOf("tools/list", {}, { "MCP-Protocol-Version": version })).toBe("legacy");
      expect(call({ ...META, [VERSION]: version }, { "MCP-Protocol-Version": version })).toBe(
        "legacy",
      );
    }
    expect(eraOf("initialize", {}, { "MCP-Protocol-Version": "2026-07-28" })).toBe("legacy");
  });

  it("is the newer one for a request whose headers agree with its body", () => {
    expect(call(META)).toBe("modern");
    expect(call({ ...META, [CLIENT]: { name: "a", version: "1" } })).toBe("modern");
    const encoded = `=?base64?${Buffer.from("find").toString("base64")}?=`;
    expect(call(META, { ...CALL, "Mcp-Name": encoded })).toBe("modern");
    expect(eraOf("tools/list", { _meta: META }, { ...HEADERS, "Mcp-Method": "tools/list" })).toBe(
      "modern",
    );
  });

  it.each([
    ["no version in the header", { "Mcp-Method": "tools/call", "Mcp-Name": "find" }],
    ["another version in the header", { ...CALL, "MCP-Protocol-Version": "2025-11-25" }],
    ["no method in the header", { "MCP-Protocol-Version": "2026-07-28", "Mcp-Name": "find" }],
    ["another method in the header", { ...CALL, "Mcp-Method": "tools/list" }],
    ["no name in the header", HEADERS],
    ["another name in the header", { ...CALL, "Mcp-Name": "Find" }],
    ["a name that does not decode", { ...CALL, "Mcp-Name": "=?base64?*?=" }],
    ["a name that decodes to another", { ...CALL, "Mcp-Name": "=?base64?eA==?=" }],
  ])("is refused with -32020 for %s", (_, headers) => {
    expect(call(META, headers)).toEqual([-32020, 400]);
  });

  it.each<[string, unknown]>([
    ["no capabilities", { [VERSION]: "2026-07-28" }],
    ["capabilities that are no object", { ...META, [CAPABILITIES]: [] }],
    ["a version that is no text", { ...META, [VERSION]: 20260728 }],
    ["a client without a version", { ...META, [CLIENT]: { name: "a" } }],
  ])("is refused with -32602 for %s", (_, meta) => {
    expect(call(meta)).toEqual([-32602, 400]);
  });

  it("is refused for a version in the header that the body does not repeat", () => {
    expect(eraOf("tools/list", {}, HEADERS)).toEqual([-32602, 400]);
    expect(eraOf("tools/list", { _meta: "x" }, HEADERS)).toEqual([-32602, 400]);
  });

  it("is refused with -32022 and the served versions for any other version", () => {
    expect(call({ ...META, [VERSION]: "2027-01-01" }, {})).toEqual([-32022, 400]);
    const same = { ...CALL, "MCP-Protocol-Version": "2027-01-01" };
    expect(call({ ...META, [VERSION]: "2027-01-01" }, same)).toEqual([-32022, 400]);
    expect(call({ ...META, [VERSION]: "2027-01-01" })).toEqual([-32020, 400]);
    expect(eraOf("tools/list", {}, { "MCP-Protocol-Version": "1999-01-01" })).toEqual([
      -32022, 400,
    ]);
    expect(() =>
      readEra(
        { id: 1, method: "x", params: { _meta: { ...META, [VERSION]: "2027-01-01" } } },
        new Headers(),
      ),
    ).toThrow(
      expect.objectContaining({
        data: {
          supported: ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"],
          requested: "2027-01-01",
        },
      }),
    );
  });
});
