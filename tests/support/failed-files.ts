import { writeFileSync } from "node:fs";
import type { Reporter, SerializedError, TestModule } from "vitest/node";

// biome-ignore lint/style/noProcessEnv: the command that runs the tests names the file
const target = process.env["FAILED_FILES"];

/** Writes the files with failed tests into the file that `FAILED_FILES` names, one path a line; "?" for a stray error. */
// biome-ignore lint/style/noDefaultExport: Vitest loads a reporter by its file's default export
export default class FailedFiles implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    if (target === undefined) return;
    const failed = modules.filter((module) => !module.ok()).map(({ moduleId }) => moduleId);
    writeFileSync(target, [...failed, ...(errors.length > 0 ? ["?"] : [])].join("\n"));
  }
}
