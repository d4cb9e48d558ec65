import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

/** Debian's programs. The first one is the same browser without its own windows, which are a quarter of its work. */
const DEBIANS = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];

// biome-ignore lint/style/noProcessEnv: where the browser is belongs to the machine, not to the gateway
const named = process.env["CHROMIUM"];
/** The browser's program; undefined on a machine without one. A browser that is named must be there. */
const program = named || DEBIANS.find((path) => existsSync(path));

/** True where pages can be shown; elsewhere these tests are left out, and one line says so. */
export const hasChromium = program !== undefined;

if (!hasChromium) {
  process.stderr.write(
    "The console's pages are not tested: no Chromium. Install Debian's chromium-headless-shell and fonts-liberation, or set CHROMIUM.\n",
  );
}

let browser: Promise<Browser> | undefined;

/**
 * Returns the browser that all tests of this process share. It ends with the process.
 *
 * @param more arguments, which count when it is started.
 */
export function sharedBrowser(more: readonly string[] = []): Promise<Browser> {
  if (program === undefined) throw new Error("there is no Chromium");
  browser ??= chromium.launch({
    executablePath: program,
    timeout: 120_000,
    // Root, as in a container, has no sandbox. Fonts are drawn alike on every machine.
    args: [
      ...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
      "--disable-dev-shm-usage",
      "--font-render-hinting=none",
      ...more,
    ],
  });
  return browser;
}
