import { spawnSync } from "node:child_process";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const RUN_BUN = pathToFileURL("scripts/task/run-bun.mjs").href;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "run-bun-"));
  const standIn = join(folder, "bun");
  // Answers `--version`, and complains of anything else as it is told.
  const lines = [
    "#!/bin/sh",
    '[ "$1" = --version ] && exit 0',
    'printf "%s\\n" "$COMPLAINT" >&2',
    "exit 1",
  ];
  await writeFile(standIn, `${lines.join("\n")}\n`);
  await chmod(standIn, 0o755);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** What the installer says when Bun fails with this complaint. */
function complainOf(complaint: string) {
  const program = `import(${JSON.stringify(RUN_BUN)}).then(({ runBun }) => runBun(["install"]))`;
  return spawnSync("node", ["-e", program], {
    encoding: "utf8",
    env: {
      PATH: [folder, "/usr/local/bin", "/usr/bin", "/bin"].join(delimiter),
      COMPLAINT: complaint,
    },
  });
}

describe("An installation that fails", () => {
  it.each([
    "error: ConnectionRefused downloading tarball zod@4.6.7",
    "npm error code ENOTFOUND\nnpm error     at onSocketNT (node:_http_client:904:5)",
    "error: GET https://registry.example/zod - FailedToOpenSocket",
  ])("for want of a registry is one clear line: %s", (complaint) => {
    const { status, stderr } = complainOf(complaint);
    expect(status).toBe(1);
    expect(stderr).toMatch(/^The package registry cannot be reached: [^\n]*\n$/);
  });

  it("for another reason says what Bun says", () => {
    const { status, stderr } = complainOf("error: lockfile had changes, but lockfile is frozen");
    expect([status, stderr]).toEqual([1, "error: lockfile had changes, but lockfile is frozen\n"]);
  });
});
