import { describe, expect, it } from "vitest";
import type { Caller } from "../../../src/core/callers/caller.ts";
import { ServiceError } from "../../../src/core/service-error.ts";
import { AssistantIndex } from "../../../src/knowledge/assistants/assistant-index.ts";
import { chooseAssistant } from "../../../src/knowledge/assistants/choose-assistant.ts";
import { keyCaller, sessionCaller, testAssistant } from "../../support/stages/assistants.ts";

const support = testAssistant(1, { name: "Support Desk", slug: "support-desk" });
const sales = testAssistant(2, { name: "Verkäufe", slug: "verkaufe", visibility: "everyone" });
const foreign = testAssistant(3, { name: "Geheim", slug: "geheim", ownerId: "usr_other" });
const unnamed = testAssistant(4);
const known = new AssistantIndex();
for (const assistant of [support, sales, foreign, unnamed]) known.set(assistant);

const MODELS = new Set(["llama3", "asst_model"]);
const owner = keyCaller("usr_owner");
const stranger = keyCaller("usr_stranger");
const bound = keyCaller("usr_owner", support.id);

/** The name of what answers, or the code of the refusal. */
function answered(caller: Caller, name: string | undefined, index = known): string {
  try {
    const chosen = chooseAssistant(index, (model) => MODELS.has(model), caller, name);
    return chosen?.id ?? "model";
  } catch (thrown) {
    if (!(thrown instanceof ServiceError)) throw thrown;
    expect(thrown.param).toBe("model");
    return thrown.code;
  }
}

describe("a caller that is bound to no assistant", () => {
  it.each([
    ["an id", support.id, support.id],
    ["a name", "Support Desk", support.id],
    ["a slug", "support-desk", support.id],
    ["a name in another case", "sUPPORT dESK", support.id],
    ["a name with spaces around", "\tSupport Desk \u00a0", support.id],
    ["a name in wide letters", "Ｓｕｐｐｏｒｔ Ｄｅｓｋ", support.id],
    ["a name in another composition", "Verka\u0308ufe", sales.id],
    ["the id of one without a name", unnamed.id, unnamed.id],
    ["a listed model", "llama3", "model"],
    ["a listed model that is named like an id", "asst_model", "model"],
    ["nothing", undefined, "model"],
    ["an empty name", "", "model"],
    ["a name that nothing has", "gpt-4", "model"],
    ["a name in letters of another script", "Suppоrt Desk", "model"],
    ["a name that is no name by its length", "Support Desk".padEnd(2_000), "model"],
    ["an unknown id", "asst_nobody", "model_not_found"],
    ["an unknown id in another case", " ASST_nobody", "model_not_found"],
    ["the id of another user's assistant", foreign.id, "model_not_found"],
    ["the name of another user's assistant", "Geheim", "model"],
    ["the slug of another user's assistant", "geheim", "model"],
  ])("gets what it names: %s", (_, name, expected) => {
    expect(answered(owner, name)).toBe(expected);
  });

  it("does not find a private assistant of another user, and finds one that is shared", () => {
    expect(answered(stranger, support.id)).toBe("model_not_found");
    expect(answered(stranger, "Support Desk")).toBe("model");
    expect(answered(stranger, "verkäufe")).toBe(sales.id);
  });

  it("finds every assistant by its id as an administrator, with a session or a key", () => {
    expect(answered(sessionCaller("usr_admin", "admin"), foreign.id)).toBe(foreign.id);
    expect(answered({ ...stranger, role: "admin" }, foreign.id)).toBe(foreign.id);
  });

  it("is no other user's private one for an administrator who calls a model of that name", () => {
    for (const name of ["GEHEIM", foreign.slug]) {
      expect(answered(sessionCaller("usr_admin", "admin"), name)).toBe("model");
      expect(answered({ ...stranger, role: "admin" }, name)).toBe("model");
    }
    expect(answered({ ...owner, role: "admin" }, "Support Desk")).toBe(support.id);
    expect(answered(sessionCaller("usr_admin", "admin"), "verkäufe")).toBe(sales.id);
    expect(answered(sessionCaller("usr_other"), "geheim")).toBe(foreign.id);
  });
});

describe("a key that is bound to an assistant", () => {
  it.each([
    ["its own id", support.id, support.id],
    ["its own name", "Support Desk", support.id],
    ["its own name in another case", "SUPPORT DESK ", support.id],
    ["its own slug", "support-desk", support.id],
    ["no model", undefined, support.id],
    ["a name that nothing has", "gpt-4", support.id],
    ["an empty name", "", support.id],
    ["another assistant's id", sales.id, "assistant_not_allowed"],
    ["another assistant's name", "Verkäufe", "assistant_not_allowed"],
    ["another assistant's slug", "verkaufe", "assistant_not_allowed"],
    ["another assistant's name in another case", "VERKÄUFE", "assistant_not_allowed"],
    ["another assistant's name in a look-alike", "Ｖｅｒｋäｕｆｅ", "assistant_not_allowed"],
    ["another assistant's name with a space behind", "Verkäufe ", "assistant_not_allowed"],
    ["another assistant's name with a combining accent", "Verka\u0308ufe", "assistant_not_allowed"],
    ["another assistant's id with a space behind", `${sales.id} `, "assistant_not_allowed"],
    ["its owner's other assistant", unnamed.id, "assistant_not_allowed"],
    ["a listed model", "llama3", "assistant_not_allowed"],
    ["a listed model in another case", "LLAMA3", support.id],
    ["an unknown id", "asst_nobody", "model_not_found"],
    ["an id that its owner may not use", foreign.id, "model_not_found"],
    ["a name that its owner may not use", "Geheim", support.id],
  ])("never gets a model or another assistant: %s", (_, name, expected) => {
    expect(answered(bound, name)).toBe(expected);
  });

  it("may call its assistant whoever owns that, for binding is the grant", () => {
    const guest = keyCaller("usr_stranger", foreign.id);
    for (const name of [foreign.id, "Geheim", "geheim", undefined]) {
      expect(answered(guest, name)).toBe(foreign.id);
    }
    expect(answered(guest, support.id)).toBe("model_not_found");
  });

  it("gets 404 for every name once its assistant is deleted", () => {
    const orphan = keyCaller("usr_owner", "asst_deleted");
    for (const name of [undefined, "asst_deleted", "llama3", "gpt-4", support.id]) {
      expect(answered(orphan, name)).toBe("model_not_found");
    }
  });

  it("keeps its assistant's name when a model gets the same one, which then means the model for others", () => {
    const index = new AssistantIndex();
    index.set(testAssistant(1, { name: "llama3" }));
    expect(answered(bound, "llama3", index)).toBe(support.id);
    expect(answered(owner, "llama3", index)).toBe("model");
  });
});

describe("the index of assistants", () => {
  it("forgets the name of a renamed assistant and the words of a deleted one", () => {
    const index = new AssistantIndex();
    index.set(support);
    index.set({ ...support, name: "Help" });
    expect(index.find("Support Desk", owner)).toBeUndefined();
    expect(index.find("help", owner)?.id).toBe(support.id);
    // Changes of two rows may arrive in any order: the name moved on already.
    index.set({ ...unnamed, name: "Help" });
    index.set(support);
    expect(index.find("help", owner)?.id).toBe(unnamed.id);
    index.delete(unnamed.id);
    for (const word of ["help", unnamed.id, unnamed.slug]) {
      expect(index.find(word, owner)).toBeUndefined();
    }
    index.delete("asst_unknown");
    expect(index.ids()).toEqual([support.id]);
  });

  it("lists those that a caller may use by the names that it shows", () => {
    const ids = (caller: Caller) => known.list(caller).map(({ id }) => id);
    expect(ids(owner)).toEqual([support.id, sales.id, unnamed.id]);
    expect(ids(stranger)).toEqual([sales.id]);
    expect(ids(bound)).toEqual([support.id]);
    expect(ids({ ...stranger, role: "admin" })).toHaveLength(4);
  });
});
