// The runtime of a task is the one that called it: Bun for `bun run`, Node for `npm run`. The process that reads this
// file may be the other: where both are installed, `bun run` starts `node`.
const agent = process.env.npm_config_user_agent ?? "";
const isBun = process.versions.bun !== undefined;

/** "bun" or "node". */
export const runtime = (agent === "" ? isBun : agent.startsWith("bun/")) ? "bun" : "node";

/** A preload module that prints the runtime which actually runs the program. */
export const printRuntime = "./scripts/task/print-runtime.mjs";

/** A preload module that ends the program when the task is gone. */
export const stopWithParent = "./scripts/task/stop-with-parent.mjs";

const paths = {
  bun: () => (isBun ? process.execPath : (process.env.npm_execpath ?? "bun")),
  node: () => (isBun ? (process.env.npm_node_execpath ?? "node") : process.execPath),
};

/** Returns the command that runs a script, TypeScript included, on the task's runtime with `preloads` loaded first. */
export function script(file, preloads = [], args = []) {
  const typescript = file.endsWith(".ts") && runtime === "node" ? ["tsx"] : [];
  const imports = [...typescript, ...preloads].flatMap((module) => ["--import", module]);
  const flags = runtime === "bun" ? ["--bun", "--no-env-file"] : [];
  return { command: paths[runtime](), args: [...flags, ...imports, file, ...args] };
}
