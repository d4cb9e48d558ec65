import type { RowProcess } from "./row-process.ts";

export interface RowProcessOptions {
  /** ROW_PROCESSES */
  readonly processes: number;
}

export function openRowProcess(_options: RowProcessOptions): RowProcess {
  const missing = () => new Error("the row process is not built yet");
  return {
    // biome-ignore lint/correctness/useYield: replaced with the row process.
    async *run() {
      throw missing();
    },
    evaluate: () => Promise.reject(missing()),
    check: async () => [],
    close: () => undefined,
  };
}
