const INTERVAL_MS = 5_000;

export interface Progress {
  /** Writes a line to the error output, at most one every five seconds. */
  readonly say: (text: () => string) => void;
  readonly end: (text: string) => void;
}

/** Reports the progress of a long-running command. */
export function createProgress(command: string): Progress {
  let saidAt = Date.now();
  const write = (text: string) => void process.stderr.write(`${command}: ${text}\n`);
  return {
    say(text) {
      if (Date.now() - saidAt < INTERVAL_MS) return;
      saidAt = Date.now();
      write(text());
    },
    end: write,
  };
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(bytes < 10_000_000 ? 2 : 0)} MB`;
}
