import { expect, test } from "vitest";
import { Turns } from "../../../src/lib/worker/turns.ts";

/** Asks for places and notes who got one, in this order. */
function stage(places: number) {
  const turns = new Turns(places);
  const entered: string[] = [];
  const { signal } = new AbortController();
  return {
    turns,
    entered,
    /** Its group is the letter of the name; a number has none. */
    ask(name: string) {
      const [group] = /[a-z]/.exec(name) ?? [];
      void turns.enter(group, signal).then(() => entered.push(name));
    },
    async leave(group: string | undefined) {
      turns.leave(group);
      await settle();
    },
  };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

test("one group leaves a place for the others", async () => {
  const { entered, ask, leave } = stage(2);
  ask("a1");
  ask("a2");
  ask("b1");
  await settle();
  expect(entered).toEqual(["a1", "b1"]);
  await leave("b");
  expect(entered).toEqual(["a1", "b1"]);
  await leave("a");
  expect(entered).toEqual(["a1", "b1", "a2"]);
});

test("waiting groups take turns", async () => {
  const { entered, ask, leave } = stage(1);
  for (const name of ["a1", "a2", "a3", "b1", "b2", "c1"]) ask(name);
  await settle();
  for (const group of ["a", "b", "c", "a", "b"]) await leave(group);
  expect(entered).toEqual(["a1", "b1", "c1", "a2", "b2", "a3"]);
});

test("a group with fewer places is first", async () => {
  const { entered, ask, leave } = stage(3);
  for (const name of ["a1", "a2", "b1", "a3", "c1"]) ask(name);
  await settle();
  await leave("a");
  expect(entered).toEqual(["a1", "a2", "b1", "c1"]);
});

test("jobs without a group take all places, in their order", async () => {
  const { turns, entered, ask, leave } = stage(2);
  for (const name of ["1", "2", "3", "4"]) ask(name);
  await settle();
  expect(entered).toEqual(["1", "2"]);
  expect(turns.waiting).toBe(2);
  await leave(undefined);
  await leave(undefined);
  expect(entered).toEqual(["1", "2", "3", "4"]);
});

test("an aborted wait leaves the queue", async () => {
  const { turns, entered, ask, leave } = stage(1);
  ask("a1");
  const controller = new AbortController();
  const waiting = turns.enter("b", controller.signal);
  ask("c1");
  controller.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow("enough");
  expect(turns.waiting).toBe(1);
  await leave("a");
  expect(entered).toEqual(["a1", "c1"]);
});
