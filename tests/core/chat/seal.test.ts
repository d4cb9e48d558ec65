import { describe, expect, it } from "vitest";
import { markSeal, openSeal } from "../../../src/core/chat/seal.ts";

describe("a seal", () => {
  it("comes back to its maker as it was, and to nobody else", () => {
    const makers = ["anthropic", "openai", "gemini", "gateway"] as const;
    for (const maker of makers) {
      const marked = markSeal(maker, "c2ln.+/=");
      for (const reader of makers) {
        expect(openSeal(reader, marked)).toBe(reader === maker ? "c2ln.+/=" : undefined);
      }
    }
  });

  it("of Anthropic's is carried as it is", () => {
    expect(markSeal("anthropic", "c2ln")).toBe("c2ln");
  });

  it("that is empty or missing is none", () => {
    expect(openSeal("anthropic", "")).toBeUndefined();
    expect(openSeal("gemini", undefined)).toBeUndefined();
  });
});
