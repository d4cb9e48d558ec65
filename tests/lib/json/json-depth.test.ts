import { describe, expect, it } from "vitest";
import { isDeeperThan } from "../../../src/lib/json/json-depth.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

describe("the depth guard", () => {
  it("passes what nests exactly to the limit and refuses one level more", () => {
    for (const limit of [1, 2, 128]) {
      const exact = "[".repeat(limit) + "]".repeat(limit);
      expect(isDeeperThan(limit, bytes(exact))).toBe(false);
      expect(isDeeperThan(limit, bytes(`[${exact}]`))).toBe(true);
    }
  });

  it("counts objects and arrays alike, and siblings once", () => {
    expect(isDeeperThan(3, bytes('{"a":[{"b":1},{"c":[]}]}'))).toBe(true);
    expect(isDeeperThan(4, bytes('{"a":[{"b":1},{"c":[]}]}'))).toBe(false);
  });

  it("does not count brackets inside strings, however they are escaped", () => {
    const strings = [
      '"[[[["',
      '"\\"[[[["',
      '"\\\\"',
      '"\\\\\\"[[[["',
      '"a\\u005b[["',
      '"\\\\\\\\"',
    ];
    for (const text of strings) {
      expect(JSON.parse(`[${text}]`)).toHaveLength(1);
      expect(isDeeperThan(1, bytes(`[${text}]`)), text).toBe(false);
      expect(isDeeperThan(1, bytes(`[${text},[]]`)), text).toBe(true);
    }
  });

  it("agrees with a parser on generated documents", () => {
    let seed = 7;
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return seed % below;
    };
    const grow = (depth: number): unknown => {
      if (depth === 0) return ['x"[', "\\", 1, null, "é{"][random(5)];
      const child = () => grow(random(2) === 0 ? depth - 1 : 0);
      return random(2) === 0 ? [child(), grow(depth - 1)] : { "k[": child(), '"': grow(depth - 1) };
    };
    for (let round = 0; round < 200; round++) {
      const depth = 1 + random(6);
      const text = JSON.stringify(grow(depth));
      expect(isDeeperThan(depth, bytes(text))).toBe(false);
      expect(isDeeperThan(depth - 1, bytes(text))).toBe(true);
    }
  });

  it("survives an unterminated string", () => {
    expect(isDeeperThan(1, bytes('["abc'))).toBe(false);
    expect(isDeeperThan(1, bytes('["abc\\"'))).toBe(false);
  });
});
