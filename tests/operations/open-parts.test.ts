import { describe, expect, it } from "vitest";
import { OpenParts, openParts } from "../../src/operations/open-parts.ts";

const soon = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Parts that write down when they begin and end to close. */
function openNamed() {
  const parts = new OpenParts();
  const events: string[] = [];
  const part = (name: string, failure?: Error) => ({
    async close() {
      events.push(`${name} begins`);
      await soon();
      events.push(`${name} ends`);
      if (failure !== undefined) throw failure;
    },
  });
  return { parts, part, events };
}

describe("closing parts", () => {
  it("begins with all but the foundations at once, and ends with these one by one, backwards", async () => {
    const { parts, part, events } = openNamed();
    parts.addFoundation(part("database"));
    parts.add({});
    parts.add(part("keys"));
    parts.addFoundation(part("limits"));
    parts.add(part("journal"));
    await parts.close(1_000);
    expect(events).toEqual([
      "keys begins",
      "journal begins",
      "keys ends",
      "journal ends",
      "limits begins",
      "limits ends",
      "database begins",
      "database ends",
    ]);
  });

  it("closes every part although some fail, and rejects with the first failure", async () => {
    const { parts, part, events } = openNamed();
    parts.addFoundation(part("database", new Error("it is away")));
    parts.add(part("keys", new Error("they are lost")));
    parts.add(part("journal"));
    await expect(parts.close(1_000)).rejects.toThrow("they are lost");
    expect(events).toContain("journal ends");
    expect(events.at(-1)).toBe("database ends");
  });

  it("gives each part the limit", async () => {
    const parts = new OpenParts();
    const limits: number[] = [];
    const close = async (limitMs: number) => void limits.push(limitMs);
    parts.addFoundation({ close });
    parts.add({ close });
    await parts.close(1_234);
    expect(limits).toEqual([1_234, 1_234]);
  });
});

describe("a start", () => {
  it("that fails closes what it has opened, and rejects with its own failure", async () => {
    const { part, events } = openNamed();
    const failing = openParts(async (parts) => {
      parts.addFoundation(part("database", new Error("it is away")));
      parts.add(part("keys"));
      throw new Error("the port is taken");
    });
    await expect(failing).rejects.toThrow("the port is taken");
    expect(events).toEqual(["keys begins", "keys ends", "database begins", "database ends"]);
  });
});
