import { expect, test } from "vitest";
import { ConnectionPlaces } from "../../../../src/data/port/connections/connection-places.ts";
import { principal } from "./port-stage.ts";

function createPlaces(max = 100) {
  const reported: number[] = [];
  return { places: new ConnectionPlaces(max, (open) => reported.push(open)), reported };
}

test("a network has 1,024 connections that start, and the next one is refused", () => {
  const { places } = createPlaces();
  const leaves = Array.from({ length: 1_024 }, () => places.start("a", () => undefined));
  expect(() => places.start("a", () => undefined)).toThrow("logging in");
  leaves[0]?.();
  leaves[0]?.();
  places.start("a", () => undefined);
  expect(() => places.start("a", () => undefined)).toThrow("logging in");
});

test("when all places to start are taken, the network with the most loses its oldest", () => {
  const { places } = createPlaces();
  const dropped: string[] = [];
  const start = (network: string, name: string): void => {
    const leave = places.start(network, () => {
      dropped.push(name);
      leave();
    });
  };
  for (let count = 0; count < 1_000; count += 1) start("few", `few ${count}`);
  for (let count = 0; count < 1_024; count += 1) start("most", `most ${count}`);
  for (let count = 0; count < 26; count += 1) start(`other ${count}`, "other");
  expect(dropped).toEqual(["most 0", "most 1"]);
});

test("places of principals are counted once, however often they are given back", () => {
  const { places, reported } = createPlaces(2);
  const [one, two] = [principal("bik_one", { maxConnections: 1 }), principal("bik_two")];
  const leave = places.take(one);
  expect(() => places.take(one)).toThrow("max_connections");
  places.take(two);
  expect(() => places.take(two)).toThrow("of this port");
  leave();
  leave();
  places.take(one);
  expect(() => places.refuseWhenFull()).toThrow();
  expect(reported).toEqual([1, 2, 1, 2]);
});

test("no more keys are checked at once than connections may be open", () => {
  const { places } = createPlaces(2);
  const [first, second] = [places.check(), places.check()];
  expect(() => places.check()).toThrow("logging in");
  first();
  first();
  places.check();
  expect(() => places.check()).toThrow("logging in");
  second();
  places.take(principal("bik_one"));
  places.take(principal("bik_two"));
  expect(() => places.check()).toThrow("of this port");
});
