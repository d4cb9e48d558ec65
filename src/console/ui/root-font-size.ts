/** Returns the pixels of one rem, for what the browser lays out by numbers: virtual rows and canvases. */
export function rootFontSize(): number {
  return Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
}
