import { type ChildProcess, spawn } from "node:child_process";
import { commandOf, SHORT_LIVED } from "./bundled-program.ts";

export interface ScriptEnd {
  /** Null when a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningScript {
  readonly child: ChildProcess;
  readonly ended: Promise<ScriptEnd>;
}

/**
 * Starts `scripts/<name>/main.ts` as its task does, on the runtime that runs the tests.
 *
 * @param through command that runs it in its own place, as `unshare` and `exec` do.
 */
export async function startScript(
  name: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  through: readonly string[] = [],
): Promise<RunningScript> {
  const program = [...(await commandOf(`scripts/${name}/main.ts`)), ...args];
  const [command = "", ...rest] = [...through, ...program];
  const child = spawn(command, rest, {
    env: { PATH: "/usr/bin:/bin", ...SHORT_LIVED, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].on("data", (chunk: Buffer) => {
      output[name] += chunk.toString();
    });
  }
  const ended = new Promise<ScriptEnd>((resolve) =>
    child.once("close", (code) => resolve({ code, ...output })),
  );
  return { child, ended };
}

/** Runs it to its end. */
export async function runScript(
  name: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<ScriptEnd> {
  const { ended } = await startScript(name, args, environment);
  return ended;
}
