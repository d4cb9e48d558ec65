/** What Bun is to be told before it starts the server. Node knows none of it. */
export const BUN_SETTINGS = {
  // Bun's `fetch` opens 256 connections at once unless told otherwise; this is its largest value.
  BUN_CONFIG_MAX_HTTP_REQUESTS: "65336",
  // Bun collects garbage as late as the machine's memory lets it: thousands of streams would take twice what they need.
  // With this many bytes it begins earlier, and below a quarter of them nothing changes.
  BUN_JSC_forceRAMSize: "1073741824",
};
