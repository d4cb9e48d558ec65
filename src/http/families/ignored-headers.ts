const NAME = "x-ignored-parameters";

/** The header that names what of a request had no effect; none when all had. */
export function ignoredHeaders(ignored: readonly string[]): Readonly<Record<string, string>> {
  if (ignored.length === 0) return {};
  // A client may have made a name up, and headers carry visible ASCII alone.
  return { [NAME]: ignored.map((name) => name.replaceAll(/[^!-+\--~]/g, "?")).join(", ") };
}

/** The same for the documentation. */
export const IGNORED_HEADER = {
  [NAME]: {
    schema: { type: "string" },
    description:
      "Only where parameters of the request had no effect: their names as the client sent them, comma-separated and " +
      "sorted. What an entry of a list was left out for is its type: `tools[web_search]`. With fallbacks the list is " +
      "that of the model that answered. The body repeats it in `ext.ignored`.",
  },
} as const;
