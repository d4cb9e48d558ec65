import type { Page } from "playwright-core";

/** More than any view has. */
const MOST_STOPS = 120;

/** Presses Tab until the focus is on the control of this name, as somebody without a mouse does. */
export async function tabTo(page: Page, name: string): Promise<void> {
  const passed: string[] = [];
  for (let stop = 0; stop < MOST_STOPS; stop += 1) {
    const focused = await page.evaluate(nameOfFocused);
    if (focused === name) return;
    passed.push(focused);
    await page.keyboard.press("Tab");
  }
  throw new Error(`Tab never came to "${name}", but to: ${passed.join(" | ")}`);
}

/** Goes to a control by Tab and presses it. */
export async function pressControl(page: Page, name: string): Promise<void> {
  await tabTo(page, name);
  await page.keyboard.press("Enter");
}

/** Goes to a field by Tab and types in the place of what it has. */
export async function typeInto(page: Page, name: string, text: string): Promise<void> {
  await tabTo(page, name);
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.type(text);
}

/** Runs in the page. Names come from labels as readers take them, as far as the console uses them. */
function nameOfFocused(): string {
  const focused = document.activeElement;
  if (focused === null) return "";
  const label = focused.getAttribute("aria-label");
  if (label !== null) return label;
  const ids = focused.getAttribute("aria-labelledby")?.split(" ") ?? [];
  const labels = [
    ...ids.map((id) => document.getElementById(id)),
    ...Array.from((focused as HTMLInputElement).labels ?? []),
  ];
  const named = labels.map((element) => element?.textContent?.trim()).find(Boolean);
  return named ?? focused.textContent?.trim() ?? "";
}
