import type { TestGateway } from "../servers/start-gateway.ts";

/** What `/metrics` told: each line's figure, by its name with its labels, as it stands there. */
export type Scrape = ReadonlyMap<string, number>;

/** How long the server shows the same figures again. */
const REUSED_FOR_MS = 1_000;

/** A fresh look at a server's metrics. */
export async function scrapeMetrics({ url }: Pick<TestGateway, "url">): Promise<Scrape> {
  await new Promise((resolve) => setTimeout(resolve, REUSED_FOR_MS + 50));
  const response = await fetch(`${url}/metrics`);
  if (response.status !== 200) throw new Error(`no metrics: ${await response.text()}`);
  return readScrape(await response.text());
}

/** Rejects what the format does not allow. */
export function readScrape(text: string): Scrape {
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  const figures = lines.map((line) => {
    const [, name, value] = /^([a-z_0-9]+(?:\{[^}]*\})?) (\S+)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) throw new Error(`no line of a metric: ${line}`);
    return [name, value.endsWith("Inf") ? Number(`${value}inity`) : Number(value)] as const;
  });
  const scrape = new Map(figures);
  if (scrape.size !== lines.length) throw new Error("a line stands there twice");
  return scrape;
}

/** The sum over all lines of a metric whose labels hold all of these texts. */
export function sumOf(scrape: Scrape, name: string, ...labels: readonly string[]): number {
  let sum = 0;
  for (const [line, value] of scrape) {
    const isIts = line === name || line.startsWith(`${name}{`);
    if (isIts && labels.every((label) => line.includes(label))) sum += value;
  }
  return sum;
}
