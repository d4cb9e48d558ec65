import { describe, expect, it } from "vitest";
import { nameKey } from "../../../src/knowledge/assistants/name-key.ts";

describe("The key of an assistant's name", () => {
  it.each([
    "\u200bsim-chat",
    "sim\u200d-chat",
    "sim-chat\ufe0f",
    "\u2066sim-chat\u2069",
    "s\u00adim-chat",
    "\ufeff \u200b sim-chat",
    "\u3164sim-chat\uffa0",
    "sim-chat\u{e0041}",
    "ＳＩＭ-chat",
  ])("of %j is that of the model that it looks like", (name) => {
    expect(nameKey(name)).toBe("sim-chat");
  });

  it.each(["\u200b", "\u00ad\u2060", " \u3164 "])("of %j is empty: nothing is seen", (name) => {
    expect(nameKey(name)).toBe("");
  });

  it("is its own key", () => {
    for (const name of ["e\u200d\u0301", "İ\u200b", "👩‍💻 Helper", "\u1112\u200b\u1161"]) {
      expect(nameKey(nameKey(name))).toBe(nameKey(name));
    }
  });
});
