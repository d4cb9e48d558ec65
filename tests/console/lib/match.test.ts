import { expect, it } from "vitest";
import { matchScore } from "../../../src/console/lib/match.ts";

it("ranks what begins above what contains above letters in order", () => {
  const names = ["Workflows", "API keys", "Keys", "Monkeys", "Kept yields"];
  const ranked = names
    .map((name) => [matchScore(name, "keys"), name] as const)
    .filter(([score]) => score > 0)
    .sort(([a], [b]) => b - a);
  expect(ranked.map(([, name]) => name)).toEqual(["Keys", "API keys", "Monkeys", "Kept yields"]);
});

it("has everything where nothing was typed", () => expect(matchScore("Keys", " ")).toBe(1));
