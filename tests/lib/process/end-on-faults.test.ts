import { describe, expect, it } from "vitest";
import { spawnProgram } from "../../support/processes/spawn-program.ts";

describe("a fault that nobody catches", () => {
  it.each(["exception", "rejection"])(
    "ends the process with 1 when it is an %s, after all lines of the log and one of its own",
    async (kind) => {
      const { ended, output } = await spawnProgram("fault", [kind]);
      expect(await ended).toBe(1);
      const lines = output()
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line));
      expect(lines).toEqual([
        expect.objectContaining({ level: "info", msg: "the line before" }),
        expect.objectContaining({
          level: "fatal",
          err: expect.objectContaining({ type: "TypeError", message: "nobody catches it" }),
        }),
      ]);
    },
  );
});
