import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { CDPSession, Page } from "playwright-core";

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const SERIOUS = new Set(["serious", "critical"]);

let source: Promise<string> | undefined;

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly impact: string;
    readonly help: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
  }[];
}

/**
 * Returns what is seriously wrong for people who do not see, hear or point, by axe: one line for each element. The
 * policy lets no script into the page, so axe is run by the browser's own tools.
 */
export async function findBarriers(page: Page): Promise<readonly string[]> {
  source ??= readFile(AXE, "utf8");
  const tools = await page.context().newCDPSession(page);
  await evaluate(tools, await source);
  const { violations } = (await evaluate(
    tools,
    `axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => ({ violations }))`,
  )) as AxeResult;
  await tools.detach();
  return violations
    .filter(({ impact }) => SERIOUS.has(impact))
    .flatMap(({ id, help, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${help}: ${html}: ${failureSummary}`),
    );
}

async function evaluate(tools: CDPSession, expression: string): Promise<unknown> {
  const { result, exceptionDetails } = await tools.send("Runtime.evaluate", {
    expression,
    awaitPromise: true,
    returnByValue: true,
  });
  if (exceptionDetails !== undefined) {
    throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  }
  return result.value;
}

/** Returns how far the page can be scrolled sideways, in CSS pixels: 0 for a page that fits. */
export function sidewaysScroll(page: Page): Promise<number> {
  return page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    return scrollWidth - clientWidth;
  });
}

/** Doubles the size of all text, as somebody does who sees badly. Throws where the text does not follow. */
export function doubleText(page: Page): Promise<void> {
  return scaleText(page, "200%", 2);
}

/** Returns all text to the size that it had before {@link doubleText}. */
export function restoreText(page: Page): Promise<void> {
  return scaleText(page, "", 0.5);
}

async function scaleText(page: Page, rootSize: string, factor: number): Promise<void> {
  const before = await page.evaluate((size) => {
    const { fontSize } = getComputedStyle(document.body);
    document.documentElement.style.fontSize = size;
    return Number.parseFloat(fontSize);
  }, rootSize);
  // With reduced motion a change of size is a very short transition, of one element after the other.
  await page.waitForFunction(
    (wanted) => Number.parseFloat(getComputedStyle(document.body).fontSize) === wanted,
    before * factor,
  );
}

/** Returns where the focus is: `body`, `main`, or the element that is elsewhere. */
export function focusPlace(page: Page): Promise<string> {
  return page.evaluate(() => {
    const focused = document.activeElement;
    if (focused === null || focused === document.body) return "body";
    if (focused.closest('main, [role="dialog"], [role="alertdialog"]') !== null) return "main";
    return focused.outerHTML;
  });
}
