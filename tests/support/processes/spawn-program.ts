import { type ChildProcess, spawn } from "node:child_process";
import { commandOf } from "./bundled-program.ts";

export interface Program {
  readonly child: ChildProcess;
  /** All it has written so far, both outputs. */
  readonly output: () => string;
  /** Resolves when its output holds the text; rejects when it ends before. */
  readonly says: (text: string) => Promise<void>;
  /** Resolves with its exit code; null when a signal ended it. */
  readonly ended: Promise<number | null>;
}

/**
 * Starts a program of tests/support/programs on the runtime the tests run on.
 *
 * @param through command that runs it in its own place, as `unshare` does.
 */
export async function spawnProgram(
  name: string,
  args: readonly string[] = [],
  environment: Record<string, string> = {},
  through: readonly string[] = [],
): Promise<Program> {
  const program = await commandOf(`tests/support/programs/${name}.ts`);
  const [command = "", ...rest] = [...through, ...program, ...args];
  const child = spawn(command, rest, {
    // biome-ignore lint/style/noProcessEnv: a child needs the path and the home
    env: { ...process.env, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  return {
    child,
    output: () => output,
    ended,
    says: (text) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (output.includes(text)) resolve();
        };
        child.stdout.on("data", look);
        look();
        void ended.then((code) => reject(new Error(`ended with ${code}: ${output}`)));
      }),
  };
}
