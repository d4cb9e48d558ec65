import { beforeEach, describe, expect, it } from "vitest";
import { ApiError } from "../../../src/console/api/errors.ts";
import type { ChatToKeep } from "../../../src/console/api/queries/chats.ts";
import { type ChatDocument, emptyDocument } from "../../../src/console/chat/chat-document.ts";
import { ChatSaves } from "../../../src/console/pages/chat/chat-saves.ts";

const documentOf = (system: string): ChatDocument => ({ ...emptyDocument("m"), system });

describe("the saves of a chat", () => {
  /** Chats as the server keeps them, by id. */
  let stored: Map<string, { readonly revision: number; readonly document: unknown }>;
  /** What becomes of the next calls: done without an answer, or not done at all. */
  let faults: ("answer lost" | "call lost")[];
  let sent: number;

  beforeEach(() => {
    stored = new Map();
    faults = [];
    sent = 0;
  });

  const keep = async ({ id, revision, document }: ChatToKeep) => {
    const fault = faults.shift();
    sent += 1;
    if (fault === "call lost") throw failure(0, "network");
    const before = stored.get(id);
    const isRepeated = revision === undefined && isSame(before?.document, document);
    if (!isRepeated) {
      if (before?.revision !== revision) throw failure(409, "version_conflict");
      const next = {
        revision: (revision ?? 0) + 1,
        document: JSON.parse(JSON.stringify(document)),
      };
      stored.set(id, next);
    }
    if (fault === "answer lost") throw failure(502, "upstream_error");
    return { revision: stored.get(id)?.revision ?? 0 };
  };
  const find = async (id: string) => {
    const found = stored.get(id);
    if (found === undefined) throw failure(404, "not_found");
    return found;
  };
  const save = (saves: ChatSaves, text: string) =>
    saves.save(documentOf(text), [], { keep, find }).catch(({ code }: ApiError) => code);
  const kept = () => [...stored.values()].map(({ document }) => (document as ChatDocument).system);

  it("keep it once where the answer to the first one is lost", async () => {
    faults = ["answer lost"];
    const saves = new ChatSaves(undefined);
    expect(await save(saves, "a question")).toBe("upstream_error");
    expect(saves.isKept).toBe(false);
    expect(await save(saves, "a question")).toBeUndefined();
    expect(kept()).toEqual(["a question"]);
    expect(saves.id).toMatch(/^chat_[0-9A-Za-z]{22}$/);
    expect([...stored.keys()]).toEqual([saves.id]);
  });

  it("go on from it where there is more to save by then", async () => {
    faults = ["answer lost", "call lost"];
    const saves = new ChatSaves(undefined);
    await save(saves, "a question");
    expect(await save(saves, "a question, an answer")).toBe("network");
    expect(await save(saves, "a question, an answer")).toBeUndefined();
    expect(kept()).toEqual(["a question, an answer"]);
    expect(stored.get(saves.id)?.revision).toBe(2);
  });

  it("know their own document after lost answers, whichever arrived", async () => {
    const saves = new ChatSaves(undefined);
    await save(saves, "one");
    faults = ["answer lost", "call lost"];
    await save(saves, "two");
    await save(saves, "three");
    expect(await save(saves, "four")).toBeUndefined();
    expect(kept()).toEqual(["four"]);
    // Without a further revision where it is stored as it is.
    faults = ["answer lost"];
    const five = documentOf("five");
    const again = () => saves.save(five, [], { keep, find });
    await expect(again()).rejects.toThrow();
    const before = sent;
    await again();
    expect([stored.get(saves.id)?.revision, sent - before]).toEqual([4, 1]);
    await save(saves, "six");
    expect(kept()).toEqual(["six"]);
  });

  it("overwrite nothing of another tab, also after a lost answer", async () => {
    const saves = new ChatSaves(undefined);
    await save(saves, "mine");
    faults = ["answer lost"];
    await save(saves, "mine too");
    stored.set(saves.id, { revision: 3, document: documentOf("theirs") });
    expect(await save(saves, "mine too")).toBe("version_conflict");
    expect(kept()).toEqual(["theirs"]);
    saves.takeOver(3);
    expect(await save(saves, "both")).toBeUndefined();
    expect(kept()).toEqual(["both"]);
  });

  it("make another chat of one that was deleted", async () => {
    const saves = new ChatSaves({ id: "chat_gone", revision: 4 });
    saves.renew();
    expect(await save(saves, "kept anew")).toBeUndefined();
    expect(saves.id).not.toBe("chat_gone");
    expect(kept()).toEqual(["kept anew"]);
  });
});

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function failure(status: number, code: string): ApiError {
  const nothing = { param: null, requestId: null, retryAfterSeconds: null };
  return new ApiError("It failed.", { status, code, ...nothing });
}
