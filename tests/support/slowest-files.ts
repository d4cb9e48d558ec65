import type { Reporter, TestModule } from "vitest/node";

const SHOWN = 10;

/** Prints the slowest test files at the end of a run, so that a file that grows slow is seen in the run that made it so. */
// biome-ignore lint/style/noDefaultExport: Vitest loads a reporter by its file's default export
export default class SlowestFiles implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    if (modules.length <= SHOWN) return;
    const files = modules.map((module) => ({ name: module.relativeModuleId, ms: spentMs(module) }));
    const slowest = files.toSorted((a, b) => b.ms - a.ms).slice(0, SHOWN);
    const lines = slowest.map(
      ({ name, ms }) => `${(ms / 1_000).toFixed(1).padStart(7)} s  ${name}`,
    );
    process.stdout.write(`\nThe ${SHOWN} slowest of ${files.length} files:\n${lines.join("\n")}\n`);
  }
}

/** Imports, hooks and tests of one file; what runs at the same time counts once. */
function spentMs(module: TestModule): number {
  const { duration, collectDuration, setupDuration } = module.diagnostic();
  return duration + collectDuration + setupDuration;
}
