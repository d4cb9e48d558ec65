const EVERY_MS = 20;

export interface HealthFigures {
  readonly p99Ms: number;
  readonly longestMs: number;
}

/** Requests the server's health at fixed times until `stop`; a late answer does not delay the next request. */
export function watchHealth(port: number): { readonly stop: () => Promise<HealthFigures> } {
  const answers: Promise<number>[] = [];
  const timer = setInterval(() => answers.push(askHealth(port)), EVERY_MS);
  return {
    async stop() {
      clearInterval(timer);
      const times = (await Promise.all(answers)).sort((one, other) => one - other);
      const at = (share: number) => times[Math.ceil(times.length * share) - 1] ?? Number.NaN;
      return { p99Ms: at(0.99), longestMs: at(1) };
    },
  };
}

async function askHealth(port: number): Promise<number> {
  const startedAt = performance.now();
  const answer = await fetch(`http://127.0.0.1:${port}/api/health`);
  await answer.arrayBuffer();
  return answer.status === 200 ? performance.now() - startedAt : Number.POSITIVE_INFINITY;
}
