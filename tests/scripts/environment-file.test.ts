import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";

const isBun = "Bun" in globalThis;
const PROGRAM = `process.stdout.write(JSON.stringify(["A", "B", "C"].map((name) => process.env[name])));`;

it.runIf(isBun)("a program of the container reads .env as a task does", () => {
  const [, options = ""] =
    /^ENV BUN_OPTIONS="(.+)"$/m.exec(readFileSync("Dockerfile", "utf8")) ?? [];
  const folder = mkdtempSync(join(tmpdir(), "environment-file-"));
  try {
    symlinkSync(resolve("scripts"), join(folder, "scripts"));
    writeFileSync(
      join(folder, ".env"),
      "A=pa$HOME$$word\nB='from the file'\nC=\"two words\" # why\n",
    );
    writeFileSync(join(folder, "program.mjs"), PROGRAM);
    const env = { HOME: "/home/of-nobody", B: "given", BUN_OPTIONS: options };
    const said = execFileSync(process.execPath, ["program.mjs"], { cwd: folder, env });
    expect(JSON.parse(said.toString())).toEqual(["pa$HOME$$word", "given", "two words"]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
