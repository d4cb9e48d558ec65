import { writeFileSync } from "node:fs";
import type { Reporter, SerializedError, TestModule } from "vitest/node";

// biome-ignore lint/style/noProcessEnv: the command that runs the tests names the file
const target = process.env["FAILED_FILES"];

/** Writes the files with failed tests or stray errors into the file that `FAILED_FILES` names, one path a line. */
// biome-ignore lint/style/noDefaultExport: Vitest loads a reporter by its file's default export
export default class FailedFiles implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    if (target === undefined) return;
    const failed = modules.filter((module) => !module.ok()).map(({ moduleId }) => moduleId);
    // An error that no test has caught is its file's; where none is named, the run as a whole has failed.
    const stray = errors.map((error) => String(error["VITEST_TEST_PATH"] ?? "?"));
    writeFileSync(target, [...new Set([...failed, ...stray])].join("\n"));
  }
}
