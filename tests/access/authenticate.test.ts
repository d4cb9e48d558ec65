import { describe, expect, it } from "vitest";
import { type ApiKey, type ApiKeyRow, toApiKey } from "../../src/access/api-key.ts";
import { authenticate } from "../../src/access/authenticate.ts";

const KEY = "sk-0123456789abcdefghijklmnop";
const OTHER_KEY = "sk-zyxwvutsrqponmlkjihgfedcba";
const NOW = Date.UTC(2026, 10, 21);

const row: ApiKeyRow = {
  id: "key_1",
  name: "one",
  keyHash: "hash",
  lastFour: "mnop",
  state: "active",
  ownerId: "usr_1",
  assistantId: null,
  passthrough: true,
  maxLevel: "read_only",
  toolScope: { tools: [], sql_connections: [] },
  monthlyTokenLimit: null,
  requestLimit: null,
  rpmLimit: null,
  tokenLimit: null,
  ipAllow: [],
  expiresAt: null,
  createdAt: new Date(NOW),
  lastUsedAt: null,
  changeSeq: 1,
};

/** Stands in for the table: keys by their text. Counts what it is asked, which hostile credentials are not to reach. */
function keysOf(entries: Record<string, ApiKey>) {
  const asked: string[] = [];
  return {
    asked,
    find(text: string): ApiKey | undefined {
      asked.push(text);
      return entries[text];
    },
  };
}

const known = (changes: Partial<ApiKeyRow> = {}) =>
  keysOf({
    [KEY]: toApiKey({ ...row, ...changes }),
    [OTHER_KEY]: toApiKey({ ...row, id: "key_2" }),
  });

const call = (headers: Record<string, string>, keys = known()) =>
  authenticate(new Headers(headers), keys, NOW);

describe("authentication", () => {
  it("takes a key as Bearer, in any case of the scheme, or as x-api-key", () => {
    const caller = { kind: "key", keyId: "key_1", ownerId: "usr_1", passthrough: true };
    expect(call({ authorization: `Bearer ${KEY}` })).toEqual(caller);
    expect(call({ authorization: `bEaReR  ${KEY}` })).toEqual(caller);
    expect(call({ "x-api-key": KEY })).toEqual(caller);
  });

  it("lets Bearer win when both are well formed, and takes x-api-key when Bearer is not", () => {
    const both = { authorization: `Bearer ${KEY}`, "x-api-key": OTHER_KEY };
    expect(call(both).keyId).toBe("key_1");
    expect(call({ ...both, authorization: "Bearer nonsense" }).keyId).toBe("key_2");
    expect(() => call({ ...both, authorization: `Bearer ${KEY}x` })).toThrow(/unknown/);
  });

  it.each<[string, Record<string, string>]>([
    ["nothing", {}],
    ["an empty one", { authorization: "" }],
    ["Bearer alone", { authorization: "Bearer " }],
    ["Bearer twice", { authorization: `Bearer Bearer ${KEY}` }],
    ["two of them", { authorization: `Bearer ${KEY}, Bearer ${KEY}` }],
    ["another scheme", { authorization: `Basic ${KEY}` }],
    ["no scheme", { authorization: KEY }],
    ["10 kB", { authorization: `Bearer sk-${"a".repeat(10_000)}` }],
    ["10 kB of x-api-key", { "x-api-key": `sk-${"a".repeat(10_000)}` }],
    ["a key of business intelligence", { authorization: "Bearer bk-0123456789abcdefghijklmnop" }],
    ["a session", { authorization: "Bearer ses_0123456789abcdefghijklmnop" }],
    ["a short key", { authorization: "Bearer sk-short" }],
    ["a prefix in capitals", { authorization: `Bearer SK-${KEY.slice(3)}` }],
    ["a key in a key", { "x-api-key": `${KEY} ${KEY}` }],
  ])("refuses %s without looking it up", (_, headers) => {
    const keys = known();
    expect(() => call(headers, keys)).toThrow(
      expect.objectContaining({ code: "invalid_api_key", status: 401 }),
    );
    expect(keys.asked).toEqual([]);
  });

  it("refuses an unknown key, whatever it holds", () => {
    for (const text of [`sk-';drop/**/table--"${"x".repeat(20)}`, `sk-${"%00".repeat(20)}`]) {
      expect(() => call({ authorization: `Bearer ${text}` })).toThrow(
        expect.objectContaining({ code: "invalid_api_key" }),
      );
    }
  });

  it("refuses an inactive key, and one from the moment of its expiry on", () => {
    const headers = { authorization: `Bearer ${KEY}` };
    expect(() => call(headers, known({ state: "inactive" }))).toThrow(/inactive/);
    expect(() => call(headers, known({ expiresAt: new Date(NOW) }))).toThrow(/expired/);
    expect(call(headers, known({ expiresAt: new Date(NOW + 1) })).keyId).toBe("key_1");
  });
});
