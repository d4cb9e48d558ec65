import { basename } from "node:path";
import { build } from "esbuild";
import type { Page } from "playwright-core";
import type { ConsoleBench } from "./console-bench.ts";

const SOURCE = "tests/console/support/whole-answers.tsx";
const FOLDER = "/console/whole-answers/";

export interface WholeAnswers {
  readonly page: Page;
  readonly ask: (model: string) => Promise<void>;
  readonly close: () => Promise<void>;
}

/**
 * Opens a page that shows answers as simple ones do: at each chunk it reads the Markdown of the whole answer and draws it,
 * with the console's own reader and elements. It is built here and put under the gateway's address.
 */
export async function openWholeAnswers(bench: ConsoleBench): Promise<WholeAnswers> {
  const { outputFiles } = await build({
    entryPoints: [SOURCE],
    ...{ bundle: true, splitting: true, minify: true, format: "esm", write: false },
    ...{ outdir: "whole-answers", jsx: "automatic", logLevel: "error" },
    define: { "process.env.NODE_ENV": '"production"' },
  });
  const files = new Map(outputFiles.map(({ path, contents }) => [basename(path), contents]));
  const tab = await bench.openTab();
  const { page } = tab;
  await page.route(`${bench.url}${FOLDER}**`, (route) => {
    const name = basename(new URL(route.request().url()).pathname);
    const script = files.get(name);
    return script === undefined
      ? route.fulfill({
          contentType: "text/html",
          body: `<!doctype html><title>Whole answers</title><h1>Whole answers</h1><div id="root"></div><script type="module" src="${FOLDER}whole-answers.js"></script>`,
        })
      : route.fulfill({ contentType: "text/javascript", body: Buffer.from(script) });
  });
  await page.goto(`${bench.url}${FOLDER}`);
  await page.waitForFunction(() => Reflect.has(window, "askForAnswer"));
  return {
    page,
    async ask(model) {
      await page.evaluate((asked) => {
        const ask = Reflect.get(window, "askForAnswer") as (model: string) => Promise<void>;
        // The page goes on by itself.
        void ask(asked);
      }, model);
    },
    close: tab.close,
  };
}
