import { spawn, spawnSync } from "node:child_process";
import { userInfo } from "node:os";
import { describe, expect, it } from "vitest";
import { pages } from "../../src/console/pages.ts";
import { hasChromium } from "./support/chromium.ts";

/**
 * Where Chromium looks whether there is IPv6: it connects a socket without sending anything. A way that leads nowhere
 * keeps the look from being counted as a packet without a way.
 */
const PROBED = "2001:4860:4860::8888";
/** Runs a command where there is a loopback and nothing else. */
const PLACE = `ip link set lo up && ip -6 route add ${PROBED}/128 dev lo && exec "$@"`;
const ALONE = ["unshare", "-n", "sh", "-c", PLACE, "sh"] as const;
const [unshare, ...alone] = ALONE;
const onBun = process.versions["bun"] !== undefined;
// Root, because a PostgreSQL of its own wants another user beside it.
const mayUnshare = userInfo().uid === 0 && spawnSync(unshare, [...alone, "true"]).status === 0;
// biome-ignore lint/style/noProcessEnv: `npm run test:console` asks for everything; this takes a gateway of its own
const isWhole = process.env["CONSOLE_GRID"] === "whole";

describe.skipIf(!(hasChromium && mayUnshare && isWhole))(
  "the console where there is no network",
  () => {
    it("shows every page and a chat, and neither browser nor server asks for anything elsewhere", async () => {
      const program = [
        ...(onBun ? [] : ["--import", "tsx"]),
        "tests/console/support/offline-tour.ts",
      ];
      const tour = await run([...ALONE, process.execPath, ...program]);
      expect([tour.code, tour.errors]).toEqual([0, expect.any(String)]);
      const { requests, addresses, cards, ...rest } = JSON.parse(
        tour.output.trim().split("\n").at(-1) ?? "",
      );
      expect(Object.keys(requests)).toEqual(["127.0.0.1"]);
      expect(requests["127.0.0.1"]).toBeGreaterThan(pages.length);
      expect(new Set([...addresses, `[${PROBED}]`])).toEqual(new Set(["127.0.0.1", `[${PROBED}]`]));
      expect(cards).toBeGreaterThan(0);
      expect(rest).toEqual({
        pages: pages.length,
        problems: [],
        packets: 0,
        lookups: [],
        // An attempt of the tour itself, which must be counted.
        counted: 1,
      });
    });
  },
);

async function run([command = "", ...args]: readonly string[]) {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  let errors = "";
  child.stdout.on("data", (chunk) => (output += chunk));
  child.stderr.on("data", (chunk) => (errors += chunk));
  const code = await new Promise((resolve) => child.once("close", resolve));
  return { code, output, errors };
}
