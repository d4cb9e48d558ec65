/** Bun's settings for the server, as environment variables. Node ignores them. */
export const BUN_SETTINGS = {
  // Bun's `fetch` opens at most 256 connections by default; this is the largest allowed value.
  BUN_CONFIG_MAX_HTTP_REQUESTS: "65336",
  // Bun delays garbage collection as long as the machine's memory allows: thousands of streams would take twice the
  // memory they need. With this many bytes it starts earlier; below a quarter of them nothing changes.
  BUN_JSC_forceRAMSize: "1073741824",
  // Bun gives memory back to the system a tenth of a second after it is free, and under load takes it again at once. On a
  // virtual machine that is a fifth of an answer's processor time; milliseconds to wait instead.
  MIMALLOC_PURGE_DELAY: "10000",
  MIMALLOC_PURGE_HOLES_MIN_INTERVAL: "2000",
};
