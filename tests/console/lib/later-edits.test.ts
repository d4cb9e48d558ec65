import { expect, it } from "vitest";
import { withLaterEdits } from "../../../src/console/lib/later-edits.ts";

const sent = { name: " draft ", description: "", tools: ["a"] };
const saved = { name: "draft", description: "", tools: ["a"] };

it("takes what was saved where nothing was changed since it was sent", () => {
  expect(withLaterEdits({ ...sent, tools: ["a"] }, { sent, saved })).toEqual(saved);
});

it("keeps what was changed while it was being saved, and only that", () => {
  const now = { ...sent, description: "typed meanwhile", tools: ["a", "b"] };
  expect(withLaterEdits(now, { sent, saved })).toEqual({ ...now, name: "draft" });
});
