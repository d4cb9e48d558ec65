import { spawnSync } from "node:child_process";
import { describe, expect, vi } from "vitest";
import { createCaseTable } from "../../support/case-table.ts";
import { spawnProgram } from "../../support/processes/spawn-program.ts";

vi.setConfig({ testTimeout: 120_000 });
const { shows, leavesOut } = createCaseTable({
  O06: "default settings, a network of loopback alone",
});
/** Runs a command where there is a loopback and nothing else. */
const ALONE = ["unshare", "-rn", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"] as const;
const [unshare, ...alone] = ALONE;
const mayUnshare = spawnSync(unshare, [...alone, "true"]).status === 0;

describe("a server without a network", () => {
  const where = "start, chat, docs, health, license, login, stop";
  if (!mayUnshare) leavesOut("O06", where, "left out: no right to a network of its own here");
  else
    shows("O06", where, "does all it should, and tries to reach nothing else", async () => {
      const tour = await spawnProgram("offline-tour", [], {}, ALONE);
      expect([await tour.ended, tour.output()]).toMatchObject([0, expect.any(String)]);
      const line = tour.output().trim().split("\n").at(-1) ?? "";
      // biome-ignore lint/suspicious/noConsole: the figures are what is asked for
      console.info(`O06 ${line}`);
      expect(JSON.parse(line)).toEqual({
        chat: 200,
        stream: [200, true],
        docs: [200, true, 200],
        health: [200, 200, 200],
        login: 200,
        license: 200,
        exitCode: 0,
        packets: 0,
        control: { connect: true, lookup: true },
        errors: [],
      });
    });
});
