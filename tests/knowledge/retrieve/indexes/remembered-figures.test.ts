import { beforeEach, describe, expect, it } from "vitest";
import { RememberedFigures } from "../../../../src/knowledge/retrieve/indexes/remembered-figures.ts";

const MINUTE_MS = 60_000;

describe("A figure that takes long to make", () => {
  let now: number;
  let made: number;
  let figures: RememberedFigures<number>;
  const make = async () => {
    made += 1;
    return made;
  };
  const fail = () => Promise.reject(new Error("the database is away"));

  beforeEach(() => {
    [now, made] = [0, 0];
    figures = new RememberedFigures({ now: () => now }, 60 * MINUTE_MS, () => 8);
  });

  it("is made once for all who ask meanwhile", async () => {
    const asked = [figures.read("a", make), figures.read("a", make), figures.read("b", make)];
    expect(await Promise.all(asked)).toEqual([1, 1, 2]);
  });

  it("is made again after its time, once, and nobody waits for that", async () => {
    await figures.read("a", make);
    now = 10 * MINUTE_MS;
    let finish: (figure: number) => void = () => undefined;
    const again = new Promise<number>((resolve) => {
      finish = resolve;
    });
    expect(await figures.read("a", () => again)).toBe(1);
    now += MINUTE_MS;
    expect(await figures.read("a", make)).toBe(1);
    expect(made).toBe(1);
    finish(7);
    await again;
    expect(await figures.read("a", make)).toBe(7);
  });

  it("stays as it was where that fails, and is tried again later", async () => {
    await figures.read("a", make);
    now = 10 * MINUTE_MS;
    expect(await figures.read("a", fail)).toBe(1);
    expect(await figures.read("a", make)).toBe(1);
    now = 20 * MINUTE_MS;
    await figures.read("a", make);
    expect(await figures.read("a", make)).toBe(2);
  });

  it("is not kept where the first one fails, nor when nobody asks for an hour", async () => {
    await expect(figures.read("a", fail)).rejects.toThrow("away");
    expect(await figures.read("a", make)).toBe(1);
    now = 60 * MINUTE_MS;
    expect(await figures.read("a", make)).toBe(2);
  });
});
