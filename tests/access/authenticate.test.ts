import { describe, expect, it } from "vitest";
import { createAuthenticate } from "../../src/access/authenticate.ts";
import { type ApiKey, type ApiKeyRow, toApiKey } from "../../src/access/keys/known/api-key.ts";
import type { KeyCaller } from "../../src/core/callers/caller.ts";

const KEY = "sk-0123456789abcdefghijklmnop";
const OTHER_KEY = "sk-zyxwvutsrqponmlkjihgfedcba";
const NOW = Date.UTC(2026, 10, 21);

const row: ApiKeyRow = {
  id: "key_1",
  name: "one",
  keyHash: "hash",
  lastFour: "mnop",
  previousKeyHash: null,
  previousExpiresAt: null,
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
  adminSet: {},
  createdAt: new Date(NOW),
  lastUsedAt: null,
  changeSeq: 1,
  ownerRole: "user",
  isOwnerDisabled: false,
  ownerMonthlyTokenLimit: null,
  ownerRpmLimit: null,
};

/** Stands in for the table: keys by their text. Counts what it is asked, which hostile credentials are not to reach. */
function keysOf(entries: Record<string, ApiKey>) {
  const asked: string[] = [];
  const used: [keyId: string, now: number][] = [];
  return {
    asked,
    used,
    noteUse: (keyId: string, now: number) => void used.push([keyId, now]),
    find(text: string): ApiKey | undefined {
      asked.push(text);
      return entries[text];
    },
  };
}

const NONE = { find: () => undefined, noteUse: () => undefined };

const known = (changes: Partial<ApiKeyRow> = {}) =>
  keysOf({
    [KEY]: toApiKey({ ...row, ...changes }),
    [OTHER_KEY]: toApiKey({ ...row, id: "key_2" }),
  });

const call = (
  headers: Record<string, string>,
  keys = known(),
  address: string | null = "192.0.2.1",
) =>
  createAuthenticate({
    keys,
    sessions: { find: async () => undefined },
    tokens: NONE,
    biKeys: NONE,
  })("caller", {
    method: "POST",
    headers: new Headers(headers),
    address: () => address,
    now: NOW,
  }) as KeyCaller;

describe("authentication", () => {
  it("takes a key as Bearer, in any case of the scheme, or as x-api-key", () => {
    const caller = {
      kind: "key",
      keyId: "key_1",
      ownerId: "usr_1",
      role: "user",
      assistantId: null,
      passthrough: true,
      maxLevel: "read_only",
      toolScope: { tools: [], sql_connections: [] },
      limits: null,
      isRestricted: false,
    };
    expect(call({ authorization: `Bearer ${KEY}` })).toEqual(caller);
    expect(call({ authorization: `bEaReR  ${KEY}` })).toEqual(caller);
    expect(call({ "x-api-key": KEY })).toEqual(caller);
  });

  it("takes a key of up to 512 characters, by whichever header", () => {
    const text = `sk-${"a".repeat(509)}`;
    const keys = keysOf({ [text]: toApiKey(row) });
    expect(call({ authorization: `Bearer ${text}` }, keys).keyId).toBe("key_1");
    expect(call({ "x-api-key": text }, keys).keyId).toBe("key_1");
    for (const headers of [{ authorization: `Bearer ${text}a` }, { "x-api-key": `${text}a` }]) {
      expect(() => call(headers as Record<string, string>, keys)).toThrow(/well-formed/);
    }
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
    ["a service token as x-api-key", { "x-api-key": `sv-${"a".repeat(43)}` }],
    ["half a service token", { authorization: "Bearer sv-half" }],
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

  it("says where a service token goes", () => {
    for (const headers of [{ "x-api-key": `sv-${"a".repeat(43)}` }, { authorization: "sv-half" }]) {
      expect(() => call(headers as Record<string, string>)).toThrow(/Authorization: Bearer sv-…/);
    }
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

  it("knows a key at once, and waits where it has to be asked for", async () => {
    const headers = { authorization: `Bearer ${KEY}` };
    expect(call(headers)).not.toBeInstanceOf(Promise);
    const known = toApiKey(row);
    const asking = (key: ApiKey | undefined) =>
      createAuthenticate({
        keys: { find: async () => key, noteUse: () => undefined },
        sessions: { find: async () => undefined },
        tokens: NONE,
        biKeys: NONE,
      });
    const credentials = {
      method: "POST",
      headers: new Headers(headers),
      address: () => "192.0.2.1",
      now: NOW,
    };
    expect(await asking(known)("caller", credentials)).toBe(known.caller);
    await expect(asking(undefined)("caller", credentials)).rejects.toMatchObject({
      code: "invalid_api_key",
    });
    await expect(asking(known)("session", credentials)).rejects.toMatchObject({
      code: "insufficient_permission",
    });
  });

  it("notes the use of a key that is let in, and of no other", () => {
    const headers = { authorization: `Bearer ${KEY}` };
    const keys = known();
    call(headers, keys);
    expect(keys.used).toEqual([["key_1", NOW]]);
    for (const refused of [
      known({ state: "inactive" }),
      known({ isOwnerDisabled: true }),
      known({ expiresAt: new Date(NOW) }),
      known({ ipAllow: ["10.0.0.0/8"] }),
    ]) {
      expect(() => call(headers, refused)).toThrow();
      expect(refused.used).toEqual([]);
    }
  });

  it.each([
    ["10.0.0.0/8", "10.1.2.3", "192.0.2.1"],
    ["10.0.0.0/8", "::ffff:10.1.2.3", "::ffff:192.0.2.1"],
    ["::ffff:10.0.0.0/104", "10.1.2.3", "192.0.2.1"],
    ["fd00::/8", "fd00::1", "fe80::1"],
    ["::1", "::1", null],
    ["0.0.0.0/0", "192.0.2.1", null],
  ])(
    "lets a key for %s in from %s, and not from %s, whichever header carries it",
    (range, inside, outside) => {
      for (const headers of [{ authorization: `Bearer ${KEY}` }, { "x-api-key": KEY }] as Record<
        string,
        string
      >[]) {
        const keys = known({ ipAllow: ["198.51.100.7", range] });
        expect(call(headers, keys, inside).keyId).toBe("key_1");
        expect(() => call(headers, keys, outside)).toThrow(
          expect.objectContaining({ code: "ip_denied", status: 403 }),
        );
      }
    },
  );
});
