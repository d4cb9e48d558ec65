import { describe, expect, it } from "vitest";
import {
  chooseByKey,
  chooseByLoad,
  findCandidates,
} from "../../../src/backends/replicas/choose-replica.ts";
import { hashText } from "../../../src/backends/replicas/hash-text.ts";
import { Replica } from "../../../src/backends/replicas/replica.ts";

const KEYS = Array.from({ length: 4_000 }, (_, index) => hashText(`conversation ${index}`));
const SPILL_ABOVE = 4;

function replicasOf(...hosts: readonly string[]): Replica[] {
  return hosts.map((host, index) => new Replica(`http://${host}:8000`, index + 1));
}

/** The address each key belongs to while nobody is busy. */
function homes(replicas: readonly Replica[]): (string | undefined)[] {
  return KEYS.map((key) => chooseByKey(replicas, key, SPILL_ABOVE)?.address);
}

describe("conversations", () => {
  const four = replicasOf("gpu-1", "gpu-2", "gpu-3", "gpu-4");

  it("are spread evenly, even where addresses and keys hardly differ", () => {
    const counts = new Map<string | undefined, number>();
    for (const home of homes(four)) counts.set(home, (counts.get(home) ?? 0) + 1);
    expect(counts.size).toBe(4);
    for (const count of counts.values()) expect(count / KEYS.length).toBeCloseTo(0.25, 1);
    const consecutive = new Set(
      Array.from({ length: 40 }, (_, key) => chooseByKey(four, key, SPILL_ABOVE)?.address),
    );
    expect(consecutive.size).toBe(4);
  });

  it("stay where they are when the list is in another order", () => {
    expect(homes(four.toReversed())).toEqual(homes(four));
  });

  it("move only to a replica that is added, and only about its share of them", () => {
    const before = homes(four);
    const after = homes([...four, ...replicasOf("gpu-5")]);
    const moved = after.filter((home, index) => home !== before[index]);
    expect(new Set(moved)).toEqual(new Set(["http://gpu-5:8000"]));
    expect(moved.length / KEYS.length).toBeCloseTo(1 / 5, 1);
  });

  it("move only from a replica that is taken away, and to all the others", () => {
    const before = homes(four);
    const after = homes(four.slice(1));
    const moved = after.filter((home, index) => home !== before[index]);
    expect(before.filter((home) => home === "http://gpu-1:8000")).toHaveLength(moved.length);
    expect(new Set(moved).size).toBe(3);
  });
});

describe("a hot conversation", () => {
  it("stays at home up to the number that never spills, and then leaves by load", () => {
    const replicas = replicasOf("a", "b", "c", "d");
    const key = 7;
    const home = chooseByKey(replicas, key, SPILL_ABOVE);
    const counts = new Map<Replica, number>();
    for (let call = 0; call < 100; call += 1) {
      const chosen = chooseByKey(replicas, key, SPILL_ABOVE);
      if (chosen === undefined) throw new Error("no replica was chosen");
      if (call < SPILL_ABOVE) expect(chosen).toBe(home);
      chosen.openCalls += 1;
      counts.set(chosen, chosen.openCalls);
    }
    // One and a half times the average share at most, and nobody is left out.
    expect(Math.max(...counts.values())).toBeLessThanOrEqual(Math.ceil((1.5 * 100) / 4));
    expect(counts.size).toBeGreaterThan(2);
  });

  it("goes home again as soon as there is room", () => {
    const replicas = replicasOf("a", "b", "c");
    const home = chooseByKey(replicas, 1, SPILL_ABOVE);
    if (home === undefined) throw new Error("no replica was chosen");
    home.openCalls = 50;
    expect(chooseByKey(replicas, 1, SPILL_ABOVE)).not.toBe(home);
    home.openCalls = 0;
    expect(chooseByKey(replicas, 1, SPILL_ABOVE)).toBe(home);
  });
});

describe("a call without a key", () => {
  it("goes to the replica with the fewest calls, and in turn where all have as many", () => {
    const replicas = replicasOf("a", "b", "c");
    const [a, b, c] = replicas;
    expect([0, 1, 2, 3].map((start) => chooseByLoad(replicas, start))).toEqual([a, b, c, a]);
    for (const replica of replicas) replica.openCalls = 2;
    (b as Replica).openCalls = 1;
    expect([0, 1, 2].map((start) => chooseByLoad(replicas, start))).toEqual([b, b, b]);
    expect(chooseByLoad([], 0)).toBeUndefined();
  });
});

describe("the candidates for a call", () => {
  const setUp = () => {
    const replicas = replicasOf("a", "b", "c");
    const [a, b, c] = replicas as [Replica, Replica, Replica];
    return { replicas, a, b, c };
  };

  it("are those that work", () => {
    const { replicas, a, b, c } = setUp();
    b.breaker.failed(0, true);
    expect(findCandidates(replicas, undefined)).toEqual([a, c]);
  });

  it("have the call's model, or have not told what they have", () => {
    const { replicas, a, b, c } = setUp();
    a.models = new Set(["small"]);
    b.models = new Set(["small", "large"]);
    expect(findCandidates(replicas, "large")).toEqual([b, c]);
    expect(findCandidates(replicas, undefined)).toEqual([a, b, c]);
  });

  it("are all of them while none works, and while none has the model", () => {
    const { replicas, a, b, c } = setUp();
    for (const replica of replicas) replica.models = new Set(["small"]);
    expect(findCandidates(replicas, "large")).toEqual([a, b, c]);
    for (const replica of replicas) replica.breaker.failed(0, true);
    expect(findCandidates(replicas, "small")).toEqual([a, b, c]);
  });

  it("are the one that has the model, although it does not work, rather than one without it", () => {
    const { replicas, a, b, c } = setUp();
    for (const replica of [a, b]) replica.models = new Set(["small"]);
    c.models = new Set(["large"]);
    c.breaker.failed(0, true);
    expect(findCandidates(replicas, "large")).toEqual([c]);
  });
});
