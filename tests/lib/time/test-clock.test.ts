import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { openTestClock, type TestClock } from "../../../src/lib/time/clock.ts";
import { startGateway, startRefused } from "../../support/servers/start-gateway.ts";

const DAY_SECONDS = 86_400;
/** Longest time for a change of the file to hold; far more than it takes. */
const CHANGE_MS = 20_000;

let folder: string;
let file: string;
let clock: TestClock | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "test-clock-"));
  file = join(folder, "offset");
});

afterEach(async () => {
  clock?.close();
  clock = undefined;
  await rm(folder, { recursive: true, force: true });
});

/** How many seconds the clock is ahead of the system's, to a tenth. */
function secondsAhead(): number {
  return Math.round(((clock?.now() ?? Number.NaN) - Date.now()) / 100) / 10;
}

async function expectAhead(seconds: number): Promise<void> {
  await vi.waitFor(() => expect(secondsAhead()).toBeCloseTo(seconds, 0), {
    timeout: CHANGE_MS,
    interval: 10,
  });
}

describe("the test clock", () => {
  test("adds the seconds of its file from the first moment, fractions too", async () => {
    await writeFile(file, "90.5\n");
    clock = openTestClock(file);
    expect(secondsAhead()).toBeCloseTo(90.5, 0);
  });

  test("follows the file forwards and backwards while it runs", async () => {
    clock = openTestClock(file);
    expect(secondsAhead()).toBeCloseTo(0, 0);
    await writeFile(file, String(30 * DAY_SECONDS));
    await expectAhead(30 * DAY_SECONDS);
    await writeFile(file, String(-2 * DAY_SECONDS));
    await expectAhead(-2 * DAY_SECONDS);
    await rm(file);
    await expectAhead(0);
  });

  test("takes a step for a step, and lets time pass where the file says so", async () => {
    clock = openTestClock(file);
    const begin = clock.monotonic();
    await writeFile(file, "5000");
    await expectAhead(5_000);
    expect(clock.monotonic() - begin).toBeLessThan(5_000_000);
    await writeFile(file, "9000 elapsed");
    await expectAhead(9_000);
    expect(clock.monotonic() - begin).toBeGreaterThanOrEqual(9_000_000);
    await writeFile(file, "1");
    await expectAhead(1);
    expect(clock.monotonic() - begin).toBeGreaterThanOrEqual(9_000_000);
  });

  test.each(["", "soon", "NaN", "Infinity", "0x10", "1e300", "9".repeat(40), "12 13"])(
    "keeps the last number while the file holds %j",
    async (text) => {
      await writeFile(file, "100");
      clock = openTestClock(file);
      await writeFile(file, text);
      await new Promise((resolve) => setTimeout(resolve, 150));
      expect(secondsAhead()).toBeCloseTo(100, 0);
      await writeFile(file, "200");
      await expectAhead(200);
    },
  );

  test("begins at the system's time when the file is broken", async () => {
    await writeFile(file, "soon");
    clock = openTestClock(file);
    expect(secondsAhead()).toBeCloseTo(0, 0);
  });
});

describe("a server with a test clock", () => {
  test("does not start without ALLOW_TEST_CLOCK, and names both settings", async () => {
    const { code, output } = await startRefused({ DATA_DIR: folder, TEST_CLOCK_FILE: file });
    expect(code).toBe(1);
    expect(output).toContain("TEST_CLOCK_FILE");
    expect(output).toContain("ALLOW_TEST_CLOCK=1");
  });

  test("warns of it at the start and lives at the time of its file", async () => {
    await writeFile(file, "0");
    const gateway = await startGateway({ ALLOW_TEST_CLOCK: "1", TEST_CLOCK_FILE: file });
    try {
      expect(gateway.output()).toMatch(/"level":"warn".*TEST_CLOCK_FILE/);
      const license = async () => {
        const response = await fetch(`${gateway.url}/v1/health`);
        return ((await response.json()) as { license: { valid: boolean } }).license;
      };
      expect(await license()).toMatchObject({ valid: true });
      await writeFile(file, String(60 * DAY_SECONDS));
      await vi.waitFor(async () => expect(await license()).toMatchObject({ valid: false }), {
        timeout: CHANGE_MS,
        interval: 20,
      });
    } finally {
      await gateway.stop();
    }
  });
});
