// Takes pictures of the console's pages, filled: `npm run console:screenshots [-- --folder FOLDER --pages keys,chat]`.
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { PageDefinition } from "../../../src/console/page-definition.ts";
import { pages } from "../../../src/console/pages.ts";
import { startPostgresCluster } from "../../support/servers/databases/postgres-cluster.ts";
import { hasChromium, sharedBrowser } from "../support/chromium.ts";
import { openConsolePage } from "../support/console-page.ts";
import { type ConsoleStage, openConsoleStage } from "../support/console-stage.ts";
import { pathOf } from "../support/page-path.ts";
import { fillGateway, type Samples } from "../support/samples/fill-gateway.ts";
import { contactSheet, type Picture } from "./contact-sheet.ts";

const THEMES = ["light", "dark"] as const;
const WIDTHS = [1_440, 375];
const LOOKS = WIDTHS.flatMap((width) => THEMES.map((theme) => ({ width, theme })));
const SHEET_WIDTH = 1_600;

const { values } = parseArgs({
  options: { folder: { type: "string" }, pages: { type: "string" } },
});
const folder = resolve(values.folder ?? "dist/screenshots");
const wanted = values.pages?.split(",");

type Look = (typeof LOOKS)[number];

/** A view of a page, with the name of its files. */
interface Place {
  readonly path: string;
  readonly name: string;
  readonly title: string;
  /** Shown to who is not signed in. */
  readonly isLogin: boolean;
}

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
    const places = shown.flatMap((page) => placesOf(page, samples));
    // A tab for each look, side by side. Each keeps what it has loaded, from page to page.
    const taken = await Promise.all(LOOKS.map((look) => takeLook(stage, look, places)));
    const sheets = await writeSheets(taken);
    const count = taken.flat().length;
    process.stdout.write(`${count} pictures and ${sheets.join(", ")} are in ${folder}\n`);
    if (count < places.length * LOOKS.length) process.exitCode = 1;
  } finally {
    await (await sharedBrowser()).close();
    await stage.close();
    await cluster?.remove();
  }
}

/** A page, and where its rows open, the page with one of them open as well. */
function placesOf(definition: PageDefinition, samples: Samples): readonly Place[] {
  const path = pathOf(definition, samples);
  const name = definition.path.replaceAll(/[^\w]+/g, "-").replaceAll(/^-|-$/g, "");
  const common = { title: definition.title, isLogin: definition.path === "login" };
  const sample = definition.opensRows ? samples[definition.path] : undefined;
  const page = { ...common, path, name };
  if (sample === undefined) return [page];
  return [page, { ...common, path: `${path}/${sample}`, name: `${name}-open` }];
}

/** Takes every place in one look. One that does not come is told and left out. */
async function takeLook(
  stage: ConsoleStage,
  look: Look,
  places: readonly Place[],
): Promise<readonly Picture[]> {
  const signedIn = await openConsolePage(stage, { ...look, role: "administrator" });
  const nobody = await openConsolePage(stage, look);
  const taken: Picture[] = [];
  for (const { path, name, title, isLogin } of places) {
    const { page, open } = isLogin ? nobody : signedIn;
    const file = `${name}-${look.width}-${look.theme}.png`;
    try {
      await open(path);
      await page.screenshot({ path: join(folder, file) });
      taken.push({ file, title: `${title}, ${look.width} px, ${look.theme}` });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      process.stderr.write(`${file} was not taken: ${reason}\n`);
    }
  }
  await Promise.all([signedIn.close(), nobody.close()]);
  return taken;
}

/** Writes a page of all pictures, and a picture of those of each look. Returns the names of the latter. */
async function writeSheets(taken: readonly (readonly Picture[])[]): Promise<readonly string[]> {
  await writeFile(join(folder, "contact-sheet.html"), contactSheet(taken.flat()));
  const page = await (await sharedBrowser()).newPage({
    viewport: { width: SHEET_WIDTH, height: 900 },
  });
  const names: string[] = [];
  const draft = join(folder, "contact-sheet-of-look.html");
  // One picture of all of them would be higher than a browser draws.
  for (const [index, { width, theme }] of LOOKS.entries()) {
    await writeFile(draft, contactSheet(taken[index] ?? []));
    await page.goto(`file://${draft}`);
    const name = `contact-sheet-${width}-${theme}.png`;
    await page.screenshot({ path: join(folder, name), fullPage: true });
    names.push(name);
  }
  await rm(draft);
  await page.close();
  return names;
}
