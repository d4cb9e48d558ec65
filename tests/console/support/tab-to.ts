import type { Locator, Page } from "playwright-core";

const MOST_TABS = 120;

/** Presses Tab until the element with this role and name has the focus, as somebody without a mouse does. */
export function tabTo(
  page: Page,
  role: Parameters<Page["getByRole"]>[0],
  name: string | RegExp,
): Promise<void> {
  return tabToElement(page, page.getByRole(role, { name }).first(), `the ${role} ${name}`);
}

/** Presses Tab until an element has the focus. */
export async function tabToElement(page: Page, wanted: Locator, name: string): Promise<void> {
  await wanted.waitFor();
  for (let tabs = 0; tabs < MOST_TABS; tabs += 1) {
    if (await wanted.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`Tab does not reach ${name}`);
}
