import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import { atTurnEnd } from "../../../src/lib/time/at-turn-end.ts";

it("Works of one turn of the event loop run at its end, in their order; what they bring runs a turn later", async () => {
  const ran: string[] = [];
  const work = (name: string, more?: () => void) => ({
    runAtTurnEnd() {
      ran.push(name);
      more?.();
    },
  });
  atTurnEnd(work("a", () => atTurnEnd(work("c"))));
  atTurnEnd(work("b"));
  await Promise.resolve();
  expect(ran).toEqual([]);
  await nextTurn();
  expect(ran).toEqual(["a", "b"]);
  await nextTurn();
  expect(ran).toEqual(["a", "b", "c"]);
});
