// Takes pictures of the console's pages, filled: `npm run console:screenshots [-- --folder FOLDER --pages keys,chat]`.
import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { PageDefinition } from "../../../src/console/page-definition.ts";
import { pages } from "../../../src/console/pages.ts";
import { startPostgresCluster } from "../../support/servers/postgres-cluster.ts";
import { hasChromium, sharedBrowser } from "../support/chromium.ts";
import { openConsolePage } from "../support/console-page.ts";
import { type ConsoleStage, openConsoleStage } from "../support/console-stage.ts";
import { fillGateway, type Samples } from "../support/fill-gateway.ts";
import { pathOf } from "../support/page-path.ts";
import { contactSheet, type Picture } from "./contact-sheet.ts";

const THEMES = ["light", "dark"] as const;
const WIDTHS = [1_440, 375];
const SHEET_WIDTH = 1_600;

const { values } = parseArgs({
  options: { folder: { type: "string" }, pages: { type: "string" } },
});
const folder = resolve(values.folder ?? "dist/screenshots");
const wanted = values.pages?.split(",");

if (hasChromium) await main();
else process.exitCode = 1;

async function main(): Promise<void> {
  const shown = pages.filter(({ path }) => wanted === undefined || wanted.includes(path));
  // The embedded database takes its time to store what the pictures show.
  const cluster = await startPostgresCluster();
  const stage = await openConsoleStage(cluster && { DATABASE_URL: cluster.url });
  try {
    const samples = await fillGateway(stage);
    await mkdir(folder, { recursive: true });
    const pictures: Picture[] = [];
    for (const page of shown) pictures.push(...(await takePage(stage, page, samples)));
    await writeSheet(pictures);
    process.stdout.write(`${pictures.length} pictures and contact-sheet.png are in ${folder}\n`);
  } finally {
    await (await sharedBrowser()).close();
    await stage.close();
    await cluster?.remove();
  }
}

/** Takes a page in each theme and width; where its rows open, with one of them open as well. */
async function takePage(
  stage: ConsoleStage,
  definition: PageDefinition,
  samples: Samples,
): Promise<Picture[]> {
  const path = pathOf(definition, samples);
  const sample = definition.opensRows ? samples[definition.path] : undefined;
  const places = [
    { path, name: nameOf(definition.path) },
    ...(sample === undefined
      ? []
      : [{ path: `${path}/${sample}`, name: `${nameOf(definition.path)}-open` }]),
  ];
  const taken: Picture[] = [];
  for (const theme of THEMES) {
    for (const width of WIDTHS) {
      const role = definition.path === "login" ? undefined : "administrator";
      const { page, open, close } = await openConsolePage(stage, { role, theme, width });
      for (const place of places) {
        await open(place.path);
        const file = `${place.name}-${width}-${theme}.png`;
        await page.screenshot({ path: join(folder, file) });
        taken.push({ file, title: `${definition.title}, ${width} px, ${theme}` });
      }
      await close();
    }
  }
  return taken;
}

function nameOf(path: string): string {
  return path.replaceAll(/[^\w]+/g, "-").replaceAll(/^-|-$/g, "");
}

/** Writes the sheet as a page, and as one picture of it. */
async function writeSheet(pictures: readonly Picture[]): Promise<void> {
  const file = join(folder, "contact-sheet.html");
  await writeFile(file, contactSheet(pictures));
  const page = await (await sharedBrowser()).newPage({
    viewport: { width: SHEET_WIDTH, height: 900 },
  });
  await page.goto(`file://${file}`);
  await page.screenshot({ path: join(folder, "contact-sheet.png"), fullPage: true });
  await page.close();
}
