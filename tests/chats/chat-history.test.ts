import { describe, expect, it } from "vitest";
import { newestFirst, replacedByNext } from "../../src/chats/chat-history.ts";

const chat = (id: string, at: number, pinned = false) => ({ id, pinned, updatedAt: new Date(at) });
const ids = (chats: readonly { readonly id: string }[] | undefined) => chats?.map(({ id }) => id);

describe("the chats that the next one replaces", () => {
  it("are none while there is room", () => {
    expect(replacedByNext([], 1)).toEqual([]);
    expect(replacedByNext([chat("a", 1)], 2)).toEqual([]);
  });

  it("are those saved longest ago that are not pinned, as many as exceed the limit", () => {
    const chats = [chat("c", 3), chat("a", 1, true), chat("b", 2), chat("d", 4)];
    expect(ids(replacedByNext(chats, 4))).toEqual(["b"]);
    expect(ids(replacedByNext(chats, 2))).toEqual(["b", "c", "d"]);
  });

  it("are undefined where the next one is not kept", () => {
    expect(replacedByNext([], 0)).toBeUndefined();
    expect(replacedByNext([chat("a", 1, true)], 1)).toBeUndefined();
    expect(
      replacedByNext([chat("a", 1, true), chat("b", 2, true), chat("c", 3)], 2),
    ).toBeUndefined();
  });

  it("have the same order wherever two were saved in one millisecond", () => {
    const [one, other] = [chat("a", 1), chat("b", 1)];
    expect(ids(newestFirst([one, other]))).toEqual(ids(newestFirst([other, one])));
    expect(ids(replacedByNext([other, one], 2))).toEqual(ids(replacedByNext([one, other], 2)));
  });
});
