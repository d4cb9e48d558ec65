const NAME = "x-ignored-parameters";

/** Returns the header that names the parameters of a request that had no effect; no header when all had an effect. */
export function ignoredHeaders(ignored: readonly string[]): Readonly<Record<string, string>> {
  if (ignored.length === 0) return {};
  // A client may have invented a name, and headers allow only visible ASCII.
  return { [NAME]: ignored.map((name) => name.replaceAll(/[^!-+\--~]/g, "?")).join(", ") };
}

/** The definition of the header for the API documentation. */
export const IGNORED_HEADER = {
  [NAME]: {
    schema: { type: "string" },
    description:
      "Only where parameters of the request had no effect: their names as the client sent them, comma-separated and " +
      "sorted. What an entry of a list was left out for is its type: `tools[web_search]`. With fallbacks the list is " +
      "that of the model that answered. The body repeats it in `ext.ignored`.",
  },
} as const;
